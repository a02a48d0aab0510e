/**
 * Journey: a process is killed, or a link cut, at a random moment while calls are in flight and clients
 * write. When everything has settled, no acknowledged write, session outcome or money is lost or duplicated.
 * Every run has a seed, shown in its name; `KILL_RUNS` and `KILL_SEED` set the number of runs and the first
 * seed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseMoney, perMinute } from '#base/money.ts';
import type { CallRecord } from '#caller/caller.ts';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene, seededRandom } from '#caller/scene.ts';
import { type Link, openLink } from '#test/fakes/link.ts';
import { freeTcpPort } from '#test/free-port.ts';
import { ApiClients, TOP_UP } from './api-clients.ts';
import { IN_WORDS, LETHAL, STRIKES, type Strike } from './kill-strikes.ts';
import { type Product, startProduct } from './product.ts';
import { findFlaws } from './stored-books.ts';
import { Tenant } from './tenant.ts';

const RUNS = Number(process.env['KILL_RUNS'] ?? (process.env['CI'] === 'true' ? 7 : 3));
const FIRST_SEED = Number(process.env['KILL_SEED'] ?? 0);
const CALLS = 3;
const PORTS = { first: 43_000, last: 43_199 };
/** When the strike happens after calls and clients have begun, and how long the clients continue after it. */
const STRIKE_WITHIN_MS = { first: 600, last: 2_800 };
const CLIENTS_CONTINUE_MS = 1_200;
const CUT_MS = { shortest: 100, longest: 3_000 };
/** Below the 2 s after which the supervisor considers a stalled process hung. */
const STALL_MS = { shortest: 300, longest: 1_000 };
/** A taken-over call whose caller has left ends only when audio stops arriving. */
const SETTLE_MS = 60_000;
/** Prices from the table in docs/settings.md, micro-dollars. */
const [PRICE_WEB, PRICE_PHONE, PRICE_NUMBER] = [60_000, 70_000, 40_000];
const KEYED_BEFORE = '11';
const KEYED_AFTER = '22';
const ENDS_UNJOINED = ['room_join_timeout', 'cancelled'];

let dataDir: string;
let product: Product;
let link: Link;
let tenant: Tenant;
let port: number;
let agentId: string;
let number: string;

describe('after any kill', () => {
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'parley-kill-'));
    port = await freeTcpPort();
    link = await openLink(port);
    tenant = await Tenant.open();
    await start();
    await setUpAgent();
  });
  afterAll(async () => {
    await product?.close();
    await link?.close();
    await tenant?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed++) {
    const strike = STRIKES[seed % STRIKES.length] ?? 'worker';
    it(`${IN_WORDS[strike]} (seed ${seed})`, { timeout: 120_000 }, () => run(seed, strike));
  }

  it('the final books are correct', { timeout: 60_000 }, async () => {
    expect(await product.stop()).toBe(0);
    expect(await findFlaws(dataDir)).toEqual([]);
  });
});

async function start(): Promise<void> {
  product = await startProduct({
    dataDir,
    environment: {
      PORT: String(port),
      CONTROL_PLANE_URL: `http://127.0.0.1:${link.port}`,
      SESSION_JOIN_SECONDS: '3',
      DRAIN_SECONDS: '2',
      LOG_LEVEL: 'warn',
    },
  });
}

/** Sets up an agent with a number, a short greeting and keypad input, and a tenant with webhooks. */
async function setUpAgent(): Promise<void> {
  const created = await product.ask('POST', '/v1/agent/agents', {
    name: 'Survivor',
    config: {
      prompt: {
        system_prompt: 'You answer the phone.',
        first_message_mode: 'fixed',
        first_message: 'Hello.',
      },
      conversation: { keypad_input: { enabled: true } },
    },
  });
  agentId = created.agent_id;
  await tenant.subscribe(product, agentId);
  const bought = await product.ask('POST', '/v1/agent/phone-numbers', {
    provider: 'managed',
    phone_number: '+15550100999',
    agent_id: agentId,
  });
  number = bought.phone_number;
}

async function run(seed: number, strike: Strike): Promise<void> {
  const random = seededRandom(seed + 1);
  const between = (from: number, to: number) => from + random() * (to - from);
  const before = await balance();
  const startedAt = new Date();
  const hangUp = new AbortController();
  const calls = Array.from({ length: CALLS }, () =>
    placeCall(random, { stays: LETHAL.includes(strike), signal: hangUp.signal }),
  );
  const clients = new ApiClients({ product, agentId, run: seed, random });
  await pause(between(STRIKE_WITHIN_MS.first, STRIKE_WITHIN_MS.last));
  const struckAt = new Date();
  await deal(strike, between);
  if (LETHAL.includes(strike)) {
    await decided({ startedAt, struckAt });
    hangUp.abort();
  }
  await pause(CLIENTS_CONTINUE_MS);
  await clients.stop();
  const records = await Promise.all(calls);
  await worksAgain();
  await settled(startedAt);
  const sessions = await sessionsSince(startedAt);

  expect(clients.strangeAnswers).toEqual([]);
  expectLegal(sessions, strike);
  const known = new Set(sessions.map(({ session_id }) => session_id));
  expect(clients.sessions.filter((id) => !known.has(id))).toEqual([]);
  await expectNumbers(clients);
  await expectAgents(clients);
  await expectCalls(records, { sessions, strike, struckAt });
  await expectReported(sessions);
  await expectScored();
  const bought = (await numbersOf(clients)).filter(({ status }) => status === 'active').length;
  const cost = sessions.reduce((sum, session) => sum + costOf(session), 0);
  expect(await balance()).toBe(
    before + clients.topUps * (parseMoney(TOP_UP) ?? 0) - bought * PRICE_NUMBER - cost,
  );
}

/**
 * One caller: presses keys, waits, presses other keys and hangs up, or stays on the line while audio arrives.
 */
function placeCall(
  random: () => number,
  { signal, stays }: { readonly signal: AbortSignal; readonly stays: boolean },
): Promise<CallRecord> {
  const scene = prepareScene({
    name: 'keys',
    seed: Math.floor(random() * 1_000_000),
    steps: [
      { do: 'pause', ms: [100, 800] },
      { do: 'press', digits: `${KEYED_BEFORE}#` },
      { do: 'pause', ms: [3_600, 4_200] },
      { do: 'press', digits: `${KEYED_AFTER}#` },
      stays ? { do: 'await_hang_up', timeout_ms: SETTLE_MS } : { do: 'pause', ms: 1_000 },
    ],
  });
  return new PhoneCaller({ ports: PORTS }).call({ target: product.sipAddress(number), scene, signal });
}

async function deal(strike: Strike, between: (from: number, to: number) => number): Promise<void> {
  if (strike === 'link') {
    link.cut();
    await pause(between(CUT_MS.shortest, CUT_MS.longest));
    link.mend();
  } else if (strike === 'stall') {
    const [{ pid } = { pid: 0 }] = product.parts('control-plane');
    process.kill(pid, 'SIGSTOP');
    await pause(between(STALL_MS.shortest, STALL_MS.longest));
    process.kill(pid, 'SIGCONT');
  } else if (strike === 'machine') {
    for (const { pid } of product.processes()) process.kill(pid, 'SIGKILL');
    await startAgain();
  } else {
    expect(product.kill(strike)).toBeGreaterThan(0);
    if (strike === 'supervisor') await startAgain();
  }
}

async function startAgain(): Promise<void> {
  await product.untilGone();
  await start();
}

/** Calls repeatedly until a call is answered. */
async function worksAgain(): Promise<void> {
  await product.until('it is ready again', async () => (await fetch(`${product.url}/readyz`)).status === 200);
  const scene = () => prepareScene({ name: 'short', steps: [{ do: 'pause', ms: 200 }] });
  const call = async () =>
    (await new PhoneCaller({ ports: PORTS }).call({ target: product.sipAddress(number), scene: scene() }))
      .outcome;
  await product.until('calls are answered again', async () => (await call()).type === 'answered');
}

/** Every call of the previous run has ended or has an agent again. */
async function decided({
  startedAt,
  struckAt,
}: {
  readonly startedAt: Date;
  readonly struckAt: Date;
}): Promise<void> {
  await product.until('every call has ended or continues', async () => {
    const calls = (await sessionsSince(startedAt)).filter(
      (session) =>
        isLive(session) &&
        session.source === 'phone' &&
        session.started_at !== null &&
        new Date(session.started_at) <= struckAt,
    );
    const details = await Promise.all(
      calls.map(({ session_id }) => product.ask('GET', `/v1/agent/sessions/${session_id}`)),
    );
    return details.every(isContinued);
  });
}

/**
 * The agent has spoken since the failover: to report that it is back, or to answer the key that interrupted
 * it.
 */
function isContinued({ items, takeovers }: Details): boolean {
  const since = takeovers.at(-1)?.taken_over_at;
  return (
    since !== undefined && items.some(({ role, created_at }) => role === 'assistant' && created_at > since)
  );
}

function isLive({ status }: Session): boolean {
  return status !== 'completed' && status !== 'failed';
}

async function settled(since: Date): Promise<void> {
  await product.until(
    'every session has ended',
    async () => !(await sessionsSince(since)).some(isLive),
    SETTLE_MS,
  );
  const untold = async () =>
    (await sessionsSince(since)).filter(
      (session) => session.status === 'completed' && tenant.eventsOf(session.session_id).length === 0,
    );
  await product.until('every call was reported', async () => (await untold()).length === 0, SETTLE_MS);
}

/** Every session has ended once, for a valid reason. */
function expectLegal(sessions: readonly Session[], strike: Strike): void {
  // A worker may die before it has reported the dialog of a call; that call cannot be taken over.
  const maySettle = strike === 'worker' || LETHAL.includes(strike);
  const endsJoined = maySettle ? ['user_hangup', 'heartbeat_timeout'] : ['user_hangup'];
  for (const { status, end_reason } of sessions)
    expect(status === 'completed' ? endsJoined : ENDS_UNJOINED).toContain(end_reason);
}

/** A key has one agent, whatever was killed while it was being created. */
async function expectAgents(clients: ApiClients): Promise<void> {
  for (const [name, id] of clients.agents) {
    const { agents } = await product.ask('GET', `/v1/agent/agents?search=${encodeURIComponent(name)}`);
    expect(agents.map((agent: { agent_id: string }) => [name, agent.agent_id])).toEqual([[name, id]]);
  }
}

async function expectNumbers(clients: ApiClients): Promise<void> {
  const numbers = await numbersOf(clients);
  for (const id of clients.numbers)
    expect(numbers.find(({ phone_number_id }) => phone_number_id === id)?.status).toBe('active');
  for (const { status } of numbers) expect(['active', 'error']).toContain(status);
}

/** The scorecard of the agent has each of its conversations once. */
async function expectScored(): Promise<void> {
  const ended = `/v1/agent/sessions?agent_id=${agentId}&status=completed&include_total=true&page_size=1`;
  const { total } = await product.ask('GET', ended);
  const counted = async () =>
    (await product.ask('GET', `/v1/agent/agents/${agentId}/scorecard`)).totals.calls;
  await product.until('each conversation is scored, once', async () => (await counted()) === total);
}

/** Answered calls were either lost with their worker or completed. */
async function expectCalls(
  records: readonly CallRecord[],
  { sessions, strike, struckAt }: { sessions: readonly Session[]; strike: Strike; struckAt: Date },
): Promise<void> {
  for (const { callId, outcome } of records) {
    if (outcome.type !== 'answered') continue;
    const session = sessions.find(({ sip_call_id }) => sip_call_id === callId);
    expect(session, `session of the answered call ${callId}`).toBeDefined();
    if (!session?.started_at || new Date(session.started_at) > struckAt) continue;
    const details: Details = await product.ask('GET', `/v1/agent/sessions/${session.session_id}`);
    if (LETHAL.includes(strike))
      expectCalledBack(session, {
        isContinued: isContinued(details),
        struckAt,
        hasStayed: outcome.endedBy !== 'lost',
      });
    else expectTalkedOut(session, details, strike);
  }
}

/**
 * Callers who stayed were called back by the agent and hung up themselves; the other calls ended with their
 * worker.
 */
function expectCalledBack(
  session: Session,
  call: { readonly isContinued: boolean; readonly struckAt: Date; readonly hasStayed: boolean },
): void {
  const { hasStayed, struckAt } = call;
  if (hasStayed) expect(session.end_reason).toBe(call.isContinued ? 'user_hangup' : 'heartbeat_timeout');
  if (session.end_reason === 'heartbeat_timeout')
    expect(Date.parse(session.ended_at ?? '') - struckAt.getTime()).toBeLessThan(20_000);
}

function expectTalkedOut(session: Session, { items }: Details, strike: Strike): void {
  expect(session).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
  // Keys pressed while no worker has the call are lost.
  if (strike !== 'worker')
    expect(items.map(({ content }) => content)).toContain(`Keypad entry: ${KEYED_AFTER}`);
}

/** The tenant received webhooks for every call and nothing else; repeated deliveries are identical. */
async function expectReported(sessions: readonly Session[]): Promise<void> {
  for (const { session_id, status } of sessions) {
    const ends = tenant.eventsOf(session_id).filter(({ event }) => event === 'call.ended');
    expect(new Set(ends.map(({ raw }) => raw.toString('latin1'))).size).toBe(status === 'completed' ? 1 : 0);
  }
}

interface Session {
  readonly session_id: string;
  readonly status: string;
  readonly end_reason: string | null;
  readonly source: string;
  readonly sip_call_id: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly duration_seconds: number | null;
}

interface Details {
  readonly items: readonly {
    readonly role?: string;
    readonly content?: string;
    readonly created_at: string;
  }[];
  readonly takeovers: readonly { readonly taken_over_at: string }[];
}

/** Reads all pages: until clients are stopped they create sessions, each of which shifts the others back. */
async function sessionsSince(since: Date): Promise<Session[]> {
  const after = since.toISOString();
  const query = `status=pending,active,unknown,completed,failed&page_size=100&created_after=${after}`;
  const found = new Map<string, Session>();
  for (let page = 1, isLast = false; !isLast; page++) {
    const { sessions, has_more }: { sessions: Session[]; has_more: boolean } = await product.ask(
      'GET',
      `/v1/agent/sessions?${query}&page=${page}`,
    );
    for (const session of sessions) found.set(session.session_id, session);
    isLast = !has_more;
  }
  return [...found.values()];
}

async function numbersOf(
  clients: ApiClients,
): Promise<{ phone_number_id: string; phone_number: string; status: string }[]> {
  const { phone_numbers } = await product.ask('GET', '/v1/agent/phone-numbers?page_size=100');
  return phone_numbers.filter(({ phone_number }: { phone_number: string }) =>
    clients.wantedNumbers.includes(phone_number),
  );
}

function costOf({ status, source, duration_seconds }: Session): number {
  return status === 'completed'
    ? perMinute(source === 'phone' ? PRICE_PHONE : PRICE_WEB, duration_seconds ?? 0)
    : 0;
}

/** The balance in micro-dollars. */
async function balance(): Promise<number> {
  const { credit } = await product.ask('GET', '/wallet/self/api-credit');
  return parseMoney(credit) ?? Number.NaN;
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
