/**
 * The API over a MongoDB that fails at a chosen command, and the peers of a call, who do what real ones do
 * then: a caller dials again, a client repeats its request, a worker sends unacknowledged reports again.
 */
import type { Clock } from '#base/clock.ts';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import { sweep } from '#control-plane/calls/settlement/sweep.ts';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import { type CommandFault, type MongodbServer, startMongodbServer } from '#test/fakes/mongodb-server.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { LATENCY, message } from '../calls/settlement/test-sessions.ts';
import type { TestUser } from '../test-api.ts';
import { openTestCalls, type TestCalls } from '../test-calls.ts';
import { insertNumber } from '../test-numbers.ts';
import { openTestStore } from '../test-store.ts';

/** The driver otherwise waits half a second before it looks for a primary again. */
const SEARCH_MS = 10;
const ATTEMPTS = 20;
/** Longer than the sweeper waits before it completes the work of others, and than a delivery's lease. */
const LATER_MS = 35_000;
const STEP_MS = 5_000;
/** Commands may run in another order, or some fewer times: more than this is an error of the test. */
const MOST_COMMANDS = 200;

/** A tenant with an agent, its number and a webhook. */
export interface Tenant {
  readonly user: TestUser;
  readonly agentId: string;
  readonly number: string;
  readonly numberId: string;
}

/** What remains of a tenant's calls, without what differs from run to run. */
export interface EndState {
  readonly balance: number;
  readonly ledgerFlaw: unknown;
  readonly completed: number;
  /** Sessions that have not ended, or whose charge is not settled. */
  readonly unfinished: readonly string[];
  /** Events the tenant's endpoint received, each once however often it came. */
  readonly events: readonly string[];
  readonly undelivered: readonly string[];
  /** Reports of the completed call that are stored. */
  readonly stored: number;
  /** Slots of workers that no call holds any more. */
  readonly leakedSlots: number;
}

/** The API with its faulty store. */
export interface FaultyCalls {
  readonly api: TestCalls;
  readonly server: MongodbServer;
  tenant(): Promise<Tenant>;
  /** Counts the commands of `work`, which has no faults. */
  countCommands(work: () => Promise<void>): Promise<number>;
  /** Runs `work`; the commands of `faults` (by their place, from 0) fail. */
  withFaults(faults: ReadonlyMap<number, CommandFault>, work: () => Promise<void>): Promise<void>;
  /** Everything that completes interrupted work, after which nothing changes any more. */
  settle(): Promise<void>;
  endState(tenant: Tenant): Promise<EndState>;
  close(): Promise<void>;
}

/** Opens them; `waits` limits how long requests wait for the store. */
export async function openFaultyCalls(waits?: Clock): Promise<FaultyCalls> {
  const server = await startMongodbServer();
  const store = await openTestStore(`${server.setUrl}&minHeartbeatFrequencyMS=${SEARCH_MS}`, waits);
  const api = await openTestCalls(
    { SIP_TRUSTED: '127.0.0.0/8', SIP_TRUNK_URI: 'trunk.example.com:5080' },
    {},
    store,
  );
  const receiver = await openWebhookReceiver();
  const deliverer = startDeliverer(api.context);
  let tenants = 0;

  async function withFaults(
    faults: ReadonlyMap<number, CommandFault>,
    work: () => Promise<void>,
  ): Promise<number> {
    let seen = 0;
    server.faultOf = () => faults.get(seen++) ?? null;
    try {
      await work();
      await deliverer.idle();
    } finally {
      server.faultOf = () => null;
    }
    if (seen > MOST_COMMANDS) throw new Error(`${seen} commands`);
    return seen;
  }

  return {
    api,
    server,
    tenant: async () => {
      const user = await api.createUser({ credit: '100.00' });
      const agentId = await api.publishAgent(user, {
        webhooks: {
          post_call: ['first', 'second'].map((name) => ({ url: `${receiver.url}/${user.teamId}/${name}` })),
        },
      });
      const number = `+1555020${String(++tenants).padStart(4, '0')}`;
      const numberId = await insertNumber(api, user, { phone_number: number, agent_id: agentId });
      return { user, agentId, number, numberId };
    },
    countCommands: (work) => withFaults(new Map(), work),
    withFaults: async (faults, work) => void (await withFaults(faults, work)),
    settle: () => settle(api, deliverer),
    endState: (tenant) => endState(api, receiver, tenant),
    close: async () => {
      await deliverer.close();
      await receiver.close();
      await api.close();
      await server.close();
    },
  };
}

async function settle(api: TestCalls, deliverer: BackgroundLoop): Promise<void> {
  for (let round = 0; round < 2; round++) {
    await later(api);
    await sweep(api.context, { graceMs: 30_000, startedAtMs: 0 });
    deliverer.kick();
    await deliverer.idle();
  }
}

/** Passes time, in steps in which the store can answer. */
async function later({ clock }: TestCalls): Promise<void> {
  for (let ms = 0; ms < LATER_MS; ms += STEP_MS) {
    await clock.advance(STEP_MS);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Repeats what failed, as its peer does. */
async function again<Result>(attempt: () => Promise<Result | null>): Promise<Result> {
  let failure: unknown = null;
  for (let count = 0; count < ATTEMPTS; count++) {
    try {
      const result = await attempt();
      if (result !== null) return result;
    } catch (error) {
      failure = error;
    }
  }
  throw new Error('no attempt succeeded', { cause: failure });
}

/** A call to the tenant's number: the caller dials until somebody answers, then talks and hangs up. */
export async function phoneCall({ api }: FaultyCalls, tenant: Tenant): Promise<void> {
  let dialled = 0;
  const sessionId = await again(async () => {
    const { answer, planned } = await admitCall(api.context, {
      call_id: `call-${++dialled}@${tenant.number}`,
      from_user: '+8190123456',
      to_user: tenant.number,
      source_address: '127.0.0.1',
      source_port: 5060,
      transport: 'udp',
      headers: {},
    });
    if (answer.action !== 'route') return null;
    const { sessionId: id } = api.dispatch.offers.at(-1) ?? { sessionId: '' };
    await planned;
    return isPlanned(api, id) ? id : null;
  });
  await talk(api, sessionId);
}

/** A web session: the client repeats its request until it is answered. */
export async function webCall({ api }: FaultyCalls, { user, agentId }: Tenant): Promise<void> {
  const sessionId = await again(async () => {
    const { status, body, headers } = await api.request('POST', '/v1/agent/sessions', {
      key: user.key,
      body: { agent_id: agentId },
    });
    if (status === 201) return body.session_id as string;
    if (status !== 503 || headers['retry-after'] === undefined) throw new Error(`answered with ${status}`);
    return null;
  });
  await talk(api, sessionId);
}

/**
 * A call that the tenant places: its client repeats the request with the same key, which the API answers with
 * a conflict while the first attempt may still be at work.
 */
export async function placedCall(
  { api }: FaultyCalls,
  { user, agentId, numberId, number }: Tenant,
): Promise<void> {
  const sessionId = await again(async () => {
    const { status, body } = await api.request('POST', '/v1/agent/phone-calls', {
      key: user.key,
      headers: { 'idempotency-key': number },
      body: { agent_id: agentId, phone_number_id: numberId, to_number: '+14155550123' },
    });
    if (status === 201) return body.session_id as string;
    if (status !== 503 && status !== 409) throw new Error(`answered with ${status}`);
    await later(api);
    return null;
  });
  await talk(api, sessionId);
}

/** The reports of a call's worker, which sends again what was not acknowledged. */
async function talk(api: TestCalls, sessionId: string): Promise<void> {
  let seq = 0;
  const epoch = api.dispatch.plans.find(({ key }) => key.sessionId === sessionId)?.key.epoch ?? 0;
  const report = async (...reports: DurableReport[]) => {
    const envelopes = reports.map((one) => ({ session_id: sessionId, epoch, seq: ++seq, report: one }));
    await again(async () => {
      const { outcome } = await api.sink.apply(envelopes, 'worker-1');
      if (outcome === 'gap') throw new Error('an acknowledged report is not stored');
      return outcome;
    });
  };
  await report({ type: 'joined', at: api.at() });
  await report(
    { type: 'items', items: [message('Are you open?', api.at())] },
    { type: 'turn', latency: LATENCY as never },
  );
  await report(
    { type: 'items', items: [message('Yes.', api.at(), 'assistant')] },
    { type: 'ended', at: api.at(1_000), end_reason: 'user_hangup' },
  );
  await report({ type: 'recording', tracks: [] });
  await report({ type: 'turn', latency: LATENCY as never });
}

function isPlanned(api: TestCalls, sessionId: string): boolean {
  return api.dispatch.plans.some(({ key }) => key.sessionId === sessionId);
}

async function endState(api: TestCalls, receiver: WebhookReceiver, { user }: Tenant): Promise<EndState> {
  const { sessions, deliveries } = api.context.models;
  const mine = await sessions.find({ user_id: user.userId }).lean();
  const completed = mine.filter(({ status }) => status === 'completed');
  const sent = await deliveries.find({ team_id: user.teamId }).lean();
  const { offers, withdrawn, ended } = api.dispatch;
  const released = new Set([...withdrawn, ...ended.map(({ key }) => key)].map(({ sessionId }) => sessionId));
  const isOver = (id: string) => released.has(id) || completed.some(({ _id }) => _id === id);
  return {
    balance: await api.balance(user.userId),
    ledgerFlaw: await api.context.ledger.verify(user.userId),
    completed: completed.length,
    unfinished: mine
      .filter(
        ({ status, billing, outbox }) =>
          !(status === 'completed' || status === 'failed') ||
          !['settled', 'free', 'void'].includes(billing.state) ||
          outbox.length > 0,
      )
      .map(({ status, billing }) => `${status}, ${billing.state}`),
    events: [
      ...new Set(
        receiver.received
          .filter(({ path }) => path.startsWith(`/${user.teamId}/`))
          .map(({ path, body }) => `${body.event} to ${path.split('/').at(-1)}`),
      ),
    ].sort(),
    undelivered: sent.filter(({ state }) => state !== 'delivered').map(({ state }) => state),
    stored: completed.reduce((sum, { last_seq: seq }) => sum + seq, 0),
    leakedSlots: offers.filter(({ sessionId: id }) => mine.some(({ _id }) => _id === id) && !isOver(id))
      .length,
  };
}
