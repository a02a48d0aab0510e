/**
 * How fast a draining worker hands its calls over. Several at once keep the next worker busy at the moment at
 * which it must send, and callers who join rooms at once wait for each other; so it is one after the other
 * while there is time for that. Phone and web calls do not wait for each other.
 */

/** A move from the offer to the next worker's first packet, as it usually takes at most, ms. */
const USUAL_MOVE_MS = { phone: 500, web: 1_000 } as const;

/**
 * How many calls of one kind may be on their way to other workers at the same time, so that all that are left
 * have moved after half of the time left, ms: later it becomes the turn of those that have no pause yet.
 */
export function movesAtOnce(kind: 'phone' | 'web', callsLeft: number, leftMs: number): number {
  if (leftMs <= 0) return Math.max(1, callsLeft);
  return Math.max(1, Math.min(callsLeft, Math.ceil((callsLeft * USUAL_MOVE_MS[kind]) / (leftMs / 2))));
}
