/**
 * `npm run bench:neighbours`: for two minutes, one tenant does everything its limits allow as fast as it can,
 * while another makes ordinary calls and requests. Prints the second tenant's figures with and without the
 * first. Budget: p95 at most twice as long, nothing refused, no process killed. `npm run bench:neighbours --
 * 30` measures for 30 seconds each; `-- 30 uploads,speech` runs only these kinds of load.
 */
import { fork } from 'node:child_process';
import { constants } from 'node:os';
import { setSessionPriority } from '#base/platform.ts';
import { quantile } from '#caller/statistics.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { type Product, startProduct } from '#test/journeys/product.ts';
import { createMeasuredAgent, runCallLoad } from './call-load.ts';
import { judge, judgeSamples, type TimedSample, toText, undisturbed } from './figures.ts';
import { type MachineStalls, watchStalls } from './machine-stalls.ts';
import { startStandIns } from './stand-ins.ts';

const DEFAULT_SECONDS = 120;
const NUMBER = '+15550100043';
const GREEDY_NUMBER = '+15550100044';
const WARM_UP = { seconds: 5, number: '+15550100045' };
/** Interval between the ordinary tenant's requests of each kind. */
const EVERY_MS = { session: 500, speech: 1_000 };
/**
 * Six calls with two questions each, repeatedly. They end two seconds apart: the webhooks of calls that end
 * together wait for the same moment of load, and would be one sample.
 */
const CALLS = { calls: 6, turns: 2, callsPerSecond: 0.5 };
/** Minimum limit, so that timer noise of a quiet machine does not fail the comparison. */
const MIN_LIMIT_MS = 20;
/** Machine stall, within a sample's limit, that the sample tolerates. */
const TOLERATED_STALL_MS = 5;

/** Job of the greedy tenant's process. */
export interface GreedyJob {
  readonly url: string;
  readonly key: string;
  readonly sipPort: number;
  readonly number: string;
  /** Kinds of load to run; empty: all of them. */
  readonly only: readonly string[];
}

/** Counts of each response status, by kind of request. */
export type GreedyTally = Record<string, Record<number, number>>;

/** Times measured by the ordinary tenant, ms. */
interface Measurements {
  readonly sessions: TimedSample[];
  readonly answers: TimedSample[];
  readonly speech: TimedSample[];
  readonly webhooks: TimedSample[];
  readonly refused: string[];
}

/** Measurements, and the machine's stalls meanwhile; null if stalls could not be measured. */
interface Phase extends Measurements {
  readonly stalls: MachineStalls | null;
}

async function run(seconds: number, only: readonly string[]): Promise<void> {
  // A real client has its own machine: here its waits for a core would count as slowness of the product,
  // alone and beside the greedy tenant alike.
  await setSessionPriority(process.pid, constants.priority.PRIORITY_HIGH);
  const standIns = await startStandIns();
  const receiver = await openWebhookReceiver();
  try {
    const environment = { ...standIns.environment, STARTING_CREDIT: '1000.00', LOG_LEVEL: 'warn' };
    const product = await startProduct({ environment });
    try {
      process.exitCode = (await compare(product, receiver, { seconds, only })) ? 0 : 1;
    } finally {
      await product.close();
    }
  } finally {
    await receiver.close();
    await standIns.close();
  }
}

async function compare(
  product: Product,
  receiver: WebhookReceiver,
  { seconds, only }: { readonly seconds: number; readonly only: readonly string[] },
): Promise<boolean> {
  const agentId = await setUp(product, receiver);
  // The first request of each kind compiles code and opens connections, so it is not measured. This greedy
  // tenant has an account of its own: the measured one begins with nothing of its limits used.
  const warmUp = await startGreedy(product, { number: WARM_UP.number, only });
  await measure(product, { receiver, agentId, seconds: WARM_UP.seconds });
  await warmUp.stop();
  console.log(`alone, ${seconds} s …`);
  const alone = await measure(product, { receiver, agentId, seconds });
  const killedBefore = processDeaths(product).length;
  const greedy = await startGreedy(product, { number: GREEDY_NUMBER, only });
  console.log(`beside a greedy tenant, ${seconds} s …`);
  const beside = await measure(product, { receiver, agentId, seconds });
  const tally = await greedy.stop();
  for (const [kind, statuses] of Object.entries(tally))
    console.log(`  greedy ${kind}: ${formatStatuses(statuses)}`);
  const figures = (['sessions', 'answers', 'speech', 'webhooks'] as const).map((kind) => {
    const { stalls } = alone;
    const before = undisturbed(alone[kind], {
      stalls,
      windowMs: MIN_LIMIT_MS,
      toleranceMs: TOLERATED_STALL_MS,
    }).map(({ value }) => value);
    const p95 = quantile(before, 0.95);
    const load =
      `beside a greedy tenant; alone p50 ${quantile(before, 0.5).toFixed(1)} · p95 ` +
      `${p95.toFixed(1)} ms (n=${before.length})`;
    const limit = Math.max(2 * p95, MIN_LIMIT_MS);
    return judgeSamples(
      { what: NAMES[kind], load, unit: 'ms' },
      beside[kind],
      { p50: limit, p95: limit },
      { stalls: beside.stalls, windowMs: limit, toleranceMs: TOLERATED_STALL_MS },
    );
  });
  const count = (name: string, entries: readonly string[]) =>
    judge({ what: name, load: 'beside a greedy tenant', unit: '', samples: 1, digits: 0 }, [
      { name: '', value: entries.length, limit: 0 },
    ]);
  const killings = processDeaths(product).slice(killedBefore);
  for (const line of new Set([...alone.refused, ...beside.refused, ...killings])) console.log(`  ${line}`);
  figures.push(
    count('refused or failed', [...alone.refused, ...beside.refused]),
    count('processes that ended', killings),
  );
  console.log(`\n${toText(figures)}\n`);
  return figures.every(({ verdict }) => verdict === 'met' || verdict === 'met between stalls');
}

const NAMES = {
  sessions: 'session created',
  answers: 'question to answer, Parley’s share',
  speech: 'speech request, whole',
  webhooks: 'end of a call to its webhook',
} as const;

/**
 * Sets up the ordinary tenant, which is the operator: an agent that answers the phone, and a webhook endpoint
 * that responds.
 */
async function setUp(product: Product, receiver: WebhookReceiver): Promise<string> {
  await createMeasuredAgent(product, NUMBER);
  const { agents } = await product.ask('GET', '/v1/agent/agents?search=Measured');
  const agentId: string = agents[0].agent_id;
  await product.ask('PATCH', `/v1/agent/agents/${agentId}/config`, {
    webhooks: { post_call: [{ url: `${receiver.url}/` }] },
  });
  await product.ask('POST', `/v1/agent/agents/${agentId}/publish`, {});
  return agentId;
}

async function measure(
  product: Product,
  {
    receiver,
    agentId,
    seconds,
  }: {
    readonly receiver: WebhookReceiver;
    readonly agentId: string;
    readonly seconds: number;
  },
): Promise<Phase> {
  const measured: Measurements = { sessions: [], answers: [], speech: [], webhooks: [], refused: [] };
  const watch = await watchStalls();
  const endMs = performance.now() + seconds * 1_000;
  receiver.answer = ({ body }) => {
    if (body.event === 'call.ended') {
      const atMs = Date.parse(body.session.conversation_ended_at);
      measured.webhooks.push({ atMs, value: Date.now() - atMs });
    }
    return { status: 200 };
  };
  await Promise.all([
    every(EVERY_MS.session, endMs, () => createSession(product, agentId, measured)),
    every(EVERY_MS.speech, endMs, () => speak(product, measured)),
    callUntil(product, endMs, measured),
  ]);
  // Webhooks of the last calls are still being delivered.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  return { ...measured, stalls: await watch.stop() };
}

/** Starts `work` at a steady pace regardless of its duration; resolves when all of it has finished. */
async function every(ms: number, endMs: number, work: () => Promise<void>): Promise<void> {
  const begun: Promise<void>[] = [];
  while (performance.now() < endMs) {
    begun.push(work());
    await new Promise((resolve) => setTimeout(resolve, ms));
  }
  await Promise.all(begun);
}

async function createSession(
  product: Product,
  agentId: string,
  { sessions, refused }: Measurements,
): Promise<void> {
  const start = { atMs: Date.now(), startMs: performance.now() };
  const { status, body } = await product
    .api('POST', '/v1/agent/sessions', { agent_id: agentId })
    .catch(toFailure);
  sessions.push(sampleSince(start));
  if (status === 201) await product.api('POST', `/v1/agent/sessions/${body.session_id}/end`).catch(toFailure);
  else refused.push(`session: ${status} ${JSON.stringify(body)}`);
}

async function speak(product: Product, { speech, refused }: Measurements): Promise<void> {
  const start = { atMs: Date.now(), startMs: performance.now() };
  const { status, body } = await product
    .api('POST', '/v1/tts', { text: 'Your table is booked for two.', format: 'wav' })
    .catch(toFailure);
  speech.push(sampleSince(start));
  if (status !== 200) refused.push(`speech: ${status} ${JSON.stringify(body)}`);
}

async function callUntil(product: Product, endMs: number, { answers, refused }: Measurements): Promise<void> {
  while (performance.now() < endMs) {
    const { turnShareMs, troubles, unanswered } = await runCallLoad(product, { ...CALLS, number: NUMBER });
    answers.push(...turnShareMs);
    refused.push(
      ...troubles.map((trouble) => `call: ${trouble}`),
      ...Array.from({ length: unanswered }, () => 'call: a question was not answered'),
    );
  }
}

function sampleSince({ atMs, startMs }: { readonly atMs: number; readonly startMs: number }): TimedSample {
  return { atMs, value: performance.now() - startMs };
}

function toFailure(error: unknown): { status: number; body: unknown } {
  return { status: 0, body: error instanceof Error ? error.message : 'failed' };
}

/**
 * Starts the greedy tenant with its own account, in its own process: otherwise its work would count as
 * slowness of the product.
 */
async function startGreedy(
  product: Product,
  { number, only }: { readonly number: string; readonly only: readonly string[] },
): Promise<{ stop(): Promise<GreedyTally> }> {
  const { api_key: key } = await product.ask('POST', '/admin/users', { name: 'Greedy', credit: '1000.00' });
  const child = fork(new URL('./greedy-tenant-process.ts', import.meta.url), [], {
    execArgv: [],
    detached: true,
  });
  // A real tenant has its own machine. Here its process gets only the CPU that the product and the bench
  // leave idle.
  if (child.pid !== undefined) await setSessionPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  child.send({
    url: product.url,
    key,
    sipPort: product.sipPort,
    number,
    only,
  } satisfies GreedyJob);
  return {
    stop: async () => {
      const answer = new Promise<GreedyTally>((resolve) =>
        child.once('message', (tally) => resolve(tally as GreedyTally)),
      );
      child.send('stop');
      const tally = await answer;
      child.disconnect();
      return tally;
    },
  };
}

function formatStatuses(statuses: Readonly<Record<number, number>>): string {
  return Object.entries(statuses)
    .map(([status, count]) => `${status} × ${count}`)
    .join(', ');
}

/** Log lines of the supervisor about processes that hung or exited. */
function processDeaths(product: Product): string[] {
  return product.log
    .split('\n')
    .filter((line) => line.includes(' hung for ') || line.includes('process ended'));
}

const [seconds = DEFAULT_SECONDS, only = ''] = process.argv.slice(2);
run(Number(seconds), only === '' ? [] : only.split(',')).catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
