/** Kills the workers in the middle of calls: how long the callers hear nothing until another one has taken over, and how soon all is settled where none can. */
import type { Product } from '#test/journeys/product.ts';
import type { CallRecord } from './caller/caller.ts';
import { startCapture } from './caller/capture.ts';
import { timelineOf } from './caller/measure.ts';
import { PhoneCaller } from './caller/phone-caller.ts';
import { prepareScene } from './caller/scene.ts';

const PORTS = { first: 42_300, last: 42_399 };
/** A caller waits this long for a word. */
const PATIENCE_MS = 15_000;
const SETTLE_LIMIT_MS = 30_000;
/** A worker needs longer than this to start. */
const KILL_AGAIN_MS = 200;

/** What a worker's death cost. */
export interface WorkerDeath {
  /** From the kill to the agent's first word after it, of each call; infinite where none came. */
  readonly silentMs: readonly number[];
  /** From the kill until no session is live any more, with no worker left to take the calls. */
  readonly settledMs: number;
}

interface DeathLoad {
  readonly calls: number;
  readonly number: string;
}

/** Measures one after the other; the product's worker has been killed for good when it returns. */
export async function measureWorkerDeath(product: Product, load: DeathLoad): Promise<WorkerDeath> {
  return { silentMs: await untilHeardAgain(product, load), settledMs: await untilSettled(product, load) };
}

async function untilHeardAgain(product: Product, load: DeathLoad): Promise<number[]> {
  const capture = await startCapture(PORTS);
  const calls = await placeCalls(product, load);
  const killedMs = Date.now();
  product.kill('worker');
  const records = await calls.ended;
  const datagrams = await capture.stop();
  await product.until('the sessions are settled', async () => (await live(product)) === 0, SETTLE_LIMIT_MS);
  return records.map((record) => {
    const next = timelineOf(datagrams, record).agent.find(({ firstMs }) => firstMs > killedMs);
    return next ? next.firstMs - killedMs : Number.POSITIVE_INFINITY;
  });
}

async function untilSettled(product: Product, load: DeathLoad): Promise<number> {
  const calls = await placeCalls(product, load);
  const killedMs = performance.now();
  product.kill('worker');
  const killing = setInterval(() => product.kill('worker'), KILL_AGAIN_MS);
  try {
    await product.until('the sessions are settled', async () => (await live(product)) === 0, SETTLE_LIMIT_MS);
    return performance.now() - killedMs;
  } finally {
    clearInterval(killing);
    calls.hangUp();
    await calls.ended;
  }
}

async function placeCalls(product: Product, load: DeathLoad): Promise<{ readonly ended: Promise<CallRecord[]>; hangUp(): void }> {
  const caller = new PhoneCaller({ ports: PORTS });
  const stop = new AbortController();
  const scene = prepareScene({ name: 'wait', steps: [{ do: 'await_hang_up', timeout_ms: PATIENCE_MS }] });
  const target = product.sipAddress(load.number);
  const ended = Promise.all(Array.from({ length: load.calls }, () => caller.call({ target, scene, signal: stop.signal })));
  await product.until('the calls are active', async () => (await live(product)) === load.calls);
  return { ended, hangUp: () => stop.abort() };
}

async function live(product: Product): Promise<number> {
  const list = await product.ask('GET', '/v1/agent/sessions?status=active,unknown&page_size=100');
  return list.sessions.length;
}
