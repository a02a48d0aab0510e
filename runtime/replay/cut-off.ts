/** Callers who are cut off: the agent takes the turn although they go on. Pure. */
import type { ReadFlightLog } from '../turn/loop/flight-log.ts';
import type { PauseOutcome } from './what-if.ts';

/**
 * The agent starts speaking about this long after the turn ends: a caller who continues within it is cut off.
 */
export const CUT_OFF_WITHIN_MS = 1_500;

/** True if the agent would have spoken into the caller’s sentence. */
export function isCutOff({
  takenAfterMs,
  wentOnAfterMs,
}: Pick<PauseOutcome, 'takenAfterMs' | 'wentOnAfterMs'>): boolean {
  return takenAfterMs !== null && wentOnAfterMs !== null && wentOnAfterMs <= takenAfterMs + CUT_OFF_WITHIN_MS;
}

/**
 * When the caller went on by themselves, ms after the end of speech; null if they answered what they heard.
 * Within the time of a cut-off they cannot have heard anything to answer.
 */
export function ownContinuation(
  { takenAfterMs, wentOnAfterMs }: PauseOutcome,
  spokeAfterMs: number,
): number | null {
  if (wentOnAfterMs !== null) return wentOnAfterMs;
  return isCutOff({ takenAfterMs, wentOnAfterMs: spokeAfterMs }) ? spokeAfterMs : null;
}

/** Finds when the caller speaks next, on the clock of the log; Infinity: not again. As `firstAfter`. */
export function nextSpeech({ inputs }: ReadFlightLog): (afterMs: number) => number {
  return firstAfter(inputs.flatMap((input) => (input.type === 'voice.started' ? [input.speechStartMs] : [])));
}

/** Finds the first of ascending times after another; asked in ascending order. */
export function firstAfter(times: readonly number[]): (atMs: number) => number {
  let next = 0;
  return (atMs) => {
    while (next < times.length && (times[next] ?? 0) <= atMs) next += 1;
    return times[next] ?? Number.POSITIVE_INFINITY;
  };
}
