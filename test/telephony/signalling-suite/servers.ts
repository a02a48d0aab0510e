/**
 * The servers telephony/ runs on. What this folder says of signalling is said once, and shown on each of
 * them: the embedded one always, a real drachtio-server where the machine has one (`drachtio` on the PATH, or
 * DRACHTIO_SERVER). docs/drachtio.md says where they differ.
 */
import { type describe, expect, it } from 'vitest';
import type { AdmissionAnswer, AdmissionRequest } from '#protocol/sip-admission.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { DRACHTIO_PROGRAM, startDrachtioServerAlone } from '#test/fakes/drachtio-server.ts';
import { connectTestWorker, SECRET, startTestSignalling } from '#test/fakes/signalling.ts';
import { describeNeeds, describeWhereThere } from '#test/needs.ts';

/** Whom a server asks about a new INVITE. */
export type Admit = (question: AdmissionRequest) => Promise<AdmissionAnswer>;

/** One that serves SIP on the loopback, UDP and TCP. */
export interface SuiteServer {
  readonly sipPort: number;
  /** Where applications connect. */
  readonly appPort: number;
  /** Dialogs it keeps; null where it does not tell. */
  dialogs(): number | null;
  /** Once a worker that has connected is given calls. */
  serving(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a server; `ports` are those of one that is gone, whose place it takes knowing nothing. */
export type StartServer = (
  admit?: Admit,
  ports?: { readonly sipPort: number; readonly appPort: number },
) => Promise<SuiteServer>;

const toFirstWorker: Admit = async () => ({ action: 'route', data: { tag: 'worker-1' } });

const startEmbedded: StartServer = async (admit = toFirstWorker, ports = { sipPort: 0, appPort: 0 }) => {
  const server = await startTestSignalling({ ...ports, admit });
  return {
    sipPort: server.sipPort,
    appPort: server.appPort,
    dialogs: () => server.metrics().dialogs,
    serving: async () => undefined,
    close: () => server.close(),
  };
};

const startDrachtio: StartServer = async (admit = toFirstWorker, ports) => {
  const server = await startDrachtioServerAlone({ secret: SECRET, ...(ports ? { ports } : {}) }, admit);
  return { ...server, dialogs: () => null };
};

/** `it` for what the embedded server does beyond drachtio-server: nothing is said of that one. */
export type ItBeyond = (title: string, test: () => Promise<void>) => void;

/** Says `body` of each server; `programs` are what it needs of the machine beside them. */
export function describeServers(
  programs: readonly string[],
  title: string,
  body: (start: StartServer, beyond: ItBeyond) => void,
): void {
  const on = (
    server: string,
    each: typeof describe | typeof describe.skip,
    [start, beyond]: readonly [StartServer, ItBeyond],
  ) => each(`${title}, on ${server}`, () => body(start, beyond));
  on('the embedded server', describeNeeds(programs), [startEmbedded, it]);
  on('drachtio-server', describeWhereThere([...programs, DRACHTIO_PROGRAM]), [
    startDrachtio,
    () => undefined,
  ]);
}

/** Connects a worker to a server, over whatever relays to it at `port`. */
export async function connectWorker(
  server: SuiteServer,
  { port = server.appPort, tag = 'worker-1' }: { readonly port?: number; readonly tag?: string } = {},
): Promise<Signalling> {
  const worker = await connectTestWorker({ appPort: port }, tag);
  await server.serving();
  return worker;
}

/** The server keeps this many dialogs, where it tells. */
export async function expectDialogs(server: SuiteServer, count: number): Promise<void> {
  await expect.poll(() => server.dialogs() ?? count, { timeout: 10_000 }).toBe(count);
}
