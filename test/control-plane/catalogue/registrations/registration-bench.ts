/**
 * The API, its store and its upkeep of registrations over the real embedded signalling: a worker's own code
 * sends the requests. Only the clock of the control plane is the test's.
 */
import { randomUUID } from 'node:crypto';
import { fault } from '#config/errors.ts';
import {
  type HopsOf,
  startRegistrations,
} from '#control-plane/catalogue/registrations/keep-registrations.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import type { Context } from '#control-plane/platform/context.ts';
import { sipResponse } from '#protocol/sip-request.ts';
import type { WorkerMessage } from '#protocol/worker-link.ts';
import { CallRequests, type CallRequestsDeps } from '#runtime/worker/call-requests.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

export const REGISTRATIONS = '/v1/agent/sip-registrations';

/** A registration as the API shows it. */
// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of the answer
export type Shown = any;

/** The parts of a test. */
export interface RegistrationBench {
  readonly api: TestCalls;
  readonly user: TestUser;
  readonly signalling: EmbeddedSignalling;
  readonly worker: Signalling;
  /** Creates a registration and waits for its first round; the fields that the API shows. */
  register(body: Record<string, unknown>): Promise<Shown>;
  read(id: string): Promise<Shown>;
  /** Lets time pass, and waits for the rounds that became due. */
  pass(ms: number): Promise<void>;
  /** Waits for the rounds under way. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

type SignallingOptions = NonNullable<Parameters<typeof startTestSignalling>[0]>;

/** Opens them, with one replica or several over one store, and a further SIP server at wish. */
export async function openRegistrationBench(
  options: {
    readonly replicas?: number;
    readonly admit?: SignallingOptions['admit'];
    readonly second?: EmbeddedSignalling;
    /** In place of DNS. */
    readonly hopsOf?: HopsOf;
  } = {},
): Promise<RegistrationBench> {
  const api = await openTestCalls();
  const signalling = await startTestSignalling(options.admit ? { admit: options.admit } : {});
  const worker = await connectTestWorker(options.second ? [signalling, options.second] : signalling);
  api.dispatch.answerSip = throughWorker(worker);
  const user = await api.createUser({ credit: '5.00' });
  const loops = replicasOf(api.context, options);
  const settle = async () => {
    for (const loop of loops) await loop.idle();
  };
  const read = async (id: string) =>
    (await api.request('GET', `${REGISTRATIONS}/${id}`, { key: user.key })).body;
  return {
    api,
    user,
    signalling,
    worker,
    read,
    settle,
    register: async (body) => {
      const { status, body: made, text } = await api.request('POST', REGISTRATIONS, { key: user.key, body });
      if (status !== 201) throw new Error(text);
      await settle();
      return read(made.sip_registration_id);
    },
    pass: async (ms) => {
      await api.clock.advance(ms);
      await settle();
    },
    close: async () => {
      for (const loop of loops) await loop.close();
      worker.close();
      await signalling.close();
      await api.close();
    },
  };
}

/** Has a worker's code send the requests of the control plane over this signalling. */
export function throughWorker(
  signalling: Pick<Signalling, 'request'>,
): NonNullable<TestCalls['dispatch']['answerSip']> {
  const answers = new Map<string, (message: WorkerMessage) => void>();
  const client = {
    send: (message: WorkerMessage) => {
      if (message.type === 'answer') answers.get(message.request_id)?.(message);
      return true;
    },
  };
  const requests = new CallRequests({ client, phone: { signalling } } as unknown as CallRequestsDeps);
  return async (request) => {
    const requestId = randomUUID();
    const answered = new Promise<WorkerMessage>((resolve) => answers.set(requestId, resolve));
    await requests.answer({ type: 'send_sip', request_id: requestId, request });
    const message = await answered;
    if (message.type !== 'answer' || !message.result.ok) throw fault('gateway_unreachable');
    return sipResponse.parse(message.result.value);
  };
}

/** The upkeep of each replica. Each of several has a name of its own for its leases. */
function replicasOf(
  context: Context,
  { replicas: count = 1, hopsOf }: { readonly replicas?: number; readonly hopsOf?: HopsOf },
): BackgroundLoop[] {
  const settings = { ...context.settings, REDIS_URL: 'redis://127.0.0.1:1' };
  return Array.from({ length: count }, () =>
    startRegistrations(count === 1 ? context : { ...context, settings }, hopsOf),
  );
}
