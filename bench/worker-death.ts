/**
 * Kills the workers repeatedly in the middle of calls. Measures how long callers hear nothing until another
 * worker takes over, and how soon sessions are settled when no worker can.
 */

import type { CallRecord } from '#caller/caller.ts';
import { startCapture } from '#caller/capture.ts';
import { timelineOf } from '#caller/measure.ts';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import type { Product } from '#test/journeys/product.ts';
import { recordingOffsetsMs } from './recording-alignment.ts';

const PORTS = { first: 42_300, last: 42_399 };
/** The caller waits this long for the agent to speak. */
const PATIENCE_MS = 15_000;
/** After a failover, a caller hears the agent and stays this long. */
const STAY_MS = 5_000;
const SETTLE_LIMIT_MS = 30_000;
/** A worker uploads its recordings in segments of less than five seconds. */
const SEGMENT_KEPT_MS = 5_500;
/** Shorter than the start-up time of a worker. */
const KILL_AGAIN_MS = 200;
/**
 * A worker that has run for 10 s is restarted without delay: this measures single deaths, not a crash loop.
 */
const BETWEEN_KILLS_MS = 11_000;

/** Effects of a worker's death. */
export interface WorkerDeath {
  /** From the kill to the agent's next word, for each call; infinite if none was heard. */
  readonly silentMs: readonly number[];
  /** Offset of each sound from the call's clock in the recordings, outside their gaps. */
  readonly recordingOffsetsMs: readonly number[];
  /** From the kill until no session is live, when no worker is left to take the calls. */
  readonly settledMs: number;
}

interface DeathLoad {
  readonly kills: number;
  /** Calls per kill. */
  readonly calls: number;
  readonly number: string;
}

/** Measures both in turn. Afterwards the product's worker is permanently down. */
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
  // Audio not uploaded by then becomes a gap in the recording, which contains no sounds to compare.
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

/** Never rejects: callers time out by themselves. */
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

/** Ids of the sessions that have not ended. */
async function live(product: Product): Promise<string[]> {
  const list = await product.ask('GET', '/v1/agent/sessions?status=active,unknown&page_size=100');
  return list.sessions.map(({ session_id }: { session_id: string }) => session_id);
}
