/**
 * Kills the workers in the middle of calls, again and again: how long the callers hear nothing until another
 * one has taken over, and how soon all is settled where none can.
 */

import type { CallRecord } from '#caller/caller.ts';
import { startCapture } from '#caller/capture.ts';
import { timelineOf } from '#caller/measure.ts';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import type { Product } from '#test/journeys/product.ts';
import { recordingOffsetsMs } from './recording-alignment.ts';

const PORTS = { first: 42_300, last: 42_399 };
/** A caller waits this long for a word. */
const PATIENCE_MS = 15_000;
/** Whoever has been taken over hears the agent and stays for a moment. */
const STAY_MS = 5_000;
const SETTLE_LIMIT_MS = 30_000;
/** A worker hands its recordings over in pieces of less than five seconds. */
const SEGMENT_KEPT_MS = 5_500;
/** A worker needs longer than this to start. */
const KILL_AGAIN_MS = 200;
/**
 * A worker that has run for 10 s is started again without delay: what is measured is one death, not a row of
 * them.
 */
const BETWEEN_KILLS_MS = 11_000;

/** What a worker's death cost. */
export interface WorkerDeath {
  /** From the kill to the agent's first word after it, of each call; infinite where none came. */
  readonly silentMs: readonly number[];
  /** How far the recordings of these calls are off the call's clock, of each sound outside their gaps. */
  readonly recordingOffsetsMs: readonly number[];
  /** From the kill until no session is live any more, with no worker left to take the calls. */
  readonly settledMs: number;
}

interface DeathLoad {
  readonly kills: number;
  /** At each kill. */
  readonly calls: number;
  readonly number: string;
}

/** Measures one after the other; the product's worker has been killed for good when it returns. */
export async function measureWorkerDeath(product: Product, load: DeathLoad): Promise<WorkerDeath> {
  const silentMs: number[] = [];
  const offsets: number[] = [];
  for (let kill = 0; kill < load.kills; kill++) {
    const isOver = new Promise((resolve) => setTimeout(resolve, BETWEEN_KILLS_MS));
    const taken = await untilHeardAgain(product, load);
    silentMs.push(...taken.silentMs);
    offsets.push(...taken.offsetsMs);
    await isOver;
  }
  return { silentMs, recordingOffsetsMs: offsets, settledMs: await untilSettled(product, load) };
}

async function untilHeardAgain(
  product: Product,
  load: DeathLoad,
): Promise<{ silentMs: number[]; offsetsMs: number[] }> {
  const capture = await startCapture(PORTS);
  const calls = await placeCalls(product, load);
  // What was not kept by then is a gap of the recording, in which no sound has a place.
  await new Promise((resolve) => setTimeout(resolve, SEGMENT_KEPT_MS));
  const killedMs = Date.now();
  product.kill('worker');
  await Promise.race([
    calls.ended,
    untilTakenOver(product).then(() => new Promise((resolve) => setTimeout(resolve, STAY_MS))),
  ]);
  calls.hangUp();
  const records = await calls.ended;
  const datagrams = await capture.stop();
  await product.until(
    'the sessions are settled',
    async () => (await live(product)).length === 0,
    SETTLE_LIMIT_MS,
  );
  const silentMs = records.map((record) => {
    const next = timelineOf(datagrams, record).agent.find(({ firstMs }) => firstMs > killedMs);
    return next ? next.firstMs - killedMs : Number.POSITIVE_INFINITY;
  });
  return { silentMs, offsetsMs: await recordingOffsetsMs(product, datagrams, records) };
}

/** Never rejects: callers lose their patience by themselves. */
async function untilTakenOver(product: Product): Promise<void> {
  const isTaken = async (id: string) =>
    (await product.ask('GET', `/v1/agent/sessions/${id}`)).takeovers.length > 0;
  await product
    .until(
      'every call is taken over',
      async () => (await Promise.all((await live(product)).map(isTaken))).every(Boolean),
      PATIENCE_MS,
    )
    .catch(() => undefined);
}

async function untilSettled(product: Product, load: DeathLoad): Promise<number> {
  const calls = await placeCalls(product, load);
  const killedMs = performance.now();
  product.kill('worker');
  const killing = setInterval(() => product.kill('worker'), KILL_AGAIN_MS);
  try {
    await product.until(
      'the sessions are settled',
      async () => (await live(product)).length === 0,
      SETTLE_LIMIT_MS,
    );
    return performance.now() - killedMs;
  } finally {
    clearInterval(killing);
    calls.hangUp();
    await calls.ended;
  }
}

async function placeCalls(
  product: Product,
  load: DeathLoad,
): Promise<{ readonly ended: Promise<CallRecord[]>; hangUp(): void }> {
  const caller = new PhoneCaller({ ports: PORTS });
  const stop = new AbortController();
  const scene = prepareScene({ name: 'wait', steps: [{ do: 'await_hang_up', timeout_ms: PATIENCE_MS }] });
  const target = product.sipAddress(load.number);
  const ended = Promise.all(
    Array.from({ length: load.calls }, () => caller.call({ target, scene, signal: stop.signal })),
  );
  await product.until('the calls are active', async () => (await live(product)).length === load.calls);
  return { ended, hangUp: () => stop.abort() };
}

/** Ids of the sessions that are not over. */
async function live(product: Product): Promise<string[]> {
  const list = await product.ask('GET', '/v1/agent/sessions?status=active,unknown&page_size=100');
  return list.sessions.map(({ session_id }: { session_id: string }) => session_id);
}
