/**
 * How fast a draining worker hands its phone calls over. Several at once keep the next worker busy at the
 * moment at which it must send, so it is one after the other while there is time for that.
 */

/** A move from the offer to the next worker's first packet, as it usually takes at most, ms. */
const USUAL_MOVE_MS = 500;

/**
 * How many phone calls may be on their way to other workers at the same time, so that all that are left have
 * moved after half of the time left, ms: later it becomes the turn of those that have no pause yet.
 */
export function movesAtOnce(callsLeft: number, leftMs: number): number {
  if (leftMs <= 0) return Math.max(1, callsLeft);
  return Math.max(1, Math.min(callsLeft, Math.ceil((callsLeft * USUAL_MOVE_MS) / (leftMs / 2))));
}
