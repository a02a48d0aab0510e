/** Cost and delay of one side with more and more calls at once, up to as many as it holds. */
import type { RoomCall } from '#caller/room-caller.ts';
import { quantile } from '#caller/statistics.ts';
import { startBusyMeter, startCostMeter } from './cost.ts';
import { judgeCall } from './judge.ts';
import { placeCall } from './place-call.ts';
import type { LoadResult } from './results.ts';
import { LOAD_SCENE, LOAD_WORDS } from './script.ts';
import type { Side } from './side.ts';

/** Numbers of calls that are always compared, then those that look for the limit. */
const LEVELS = [1, 4, 8, 12, 16, 24, 32] as const;
/** Tried when the second of them was too much. */
const BELOW_SECOND = 2;
/** Calls begin this far apart. */
const APART_MS = 300;
/** A side holds calls while its slowest answers are at most this much slower than with one call. */
const SLOWER_MS = 1_000;
/** Beyond this, the callers themselves had too little of the machine. */
const LATE_MS = 30;

/** Measures each level until one is too much. `onLevel` gets every result, in order. */
export async function loadSide(
  side: Side,
  onLevel: (result: LoadResult) => void,
  announce: (calls: number) => void,
): Promise<void> {
  let alone: LoadResult | null = null;
  for (const [index, calls] of LEVELS.entries()) {
    announce(calls);
    const measured = await measureLevel(side, calls, alone);
    alone ??= measured;
    onLevel(measured);
    if (measured.brokeBecause === null) continue;
    if (index !== 1) return;
    announce(BELOW_SECOND);
    onLevel(await measureLevel(side, BELOW_SECOND, alone));
    return;
  }
}

async function measureLevel(side: Side, calls: number, alone: LoadResult | null): Promise<LoadResult> {
  side.engines.order({ call: null, cue: { words: LOAD_WORDS, isStanding: true } });
  const meter = startCostMeter(() => side.processes());
  const busy = startBusyMeter();
  const placed = await Promise.allSettled(
    Array.from({ length: calls }, (_, index) => placeLate(side, index)),
  );
  const { cpuSeconds, peakBytes, seconds } = meter.stop();
  const done = placed.flatMap((call) => (call.status === 'fulfilled' ? [call.value] : []));
  const heard = done.map(({ call }) => judgeCall(call, null));
  const result = {
    calls,
    failed: calls - done.length,
    minutes: done.reduce((sum, call) => sum + call.minutes, 0),
    seconds,
    cpuSeconds,
    peakBytes,
    replyMs: heard.flatMap(({ replyMs }) => replyMs),
    unanswered: heard.reduce((sum, { unanswered }) => sum + unanswered, 0),
    latenessMs: Math.max(0, ...done.map(({ call }) => quantile(call.latenessMs, 0.99))),
    busyShare: busy(),
  };
  return { ...result, brokeBecause: reasonOf(result, alone) };
}

async function placeLate(
  side: Side,
  index: number,
): Promise<{ readonly call: RoomCall; readonly minutes: number }> {
  await new Promise((done) => setTimeout(done, APART_MS * index));
  const { grant } = await side.prepare();
  const begunMs = performance.now();
  const scene = { ...LOAD_SCENE, seed: 100 + index };
  const call = await placeCall({ grant, scene }, () => undefined);
  return { call, minutes: (performance.now() - begunMs) / 60_000 };
}

/** Why a side did not hold its calls; null if it did. */
export function reasonOf(
  result: Omit<LoadResult, 'brokeBecause'>,
  alone: Pick<LoadResult, 'replyMs'> | null,
): string | null {
  const count = (number: number, one: string, more: string) => `${number} ${number === 1 ? one : more}`;
  if (result.failed > 0) return `${count(result.failed, 'call', 'calls')} not connected`;
  if (result.unanswered > 0) return `${count(result.unanswered, 'question', 'questions')} unanswered`;
  if (alone && quantile(result.replyMs, 0.95) > quantile(alone.replyMs, 0.95) + SLOWER_MS)
    return `its answers were over ${SLOWER_MS / 1_000} s slower`;
  return result.latenessMs > LATE_MS ? 'the callers had too little of the machine' : null;
}
