/**
 * The signs of life that a process gives its supervisor: every half second, and at rest every second, because
 * each wakes the process.
 */
import type { Clock, Timer } from '#base/clock.ts';

/** Longest time between two signs of a process that works, ms. */
const WORKING_MS = 500;
const RESTING_MS = 1_000;

/**
 * Calls `give` with the time of each sign until the process ends. A sign at rest is dated half a second
 * ahead: a hang begins when a sign is missing, at rest as at work.
 */
export function giveSignsOfLife(clock: Clock, isAtRest: () => boolean, give: (atMs: number) => void): void {
  let oftener: Timer | null = null;
  clock.every(RESTING_MS, () => {
    const rests = isAtRest();
    if (rests) {
      oftener?.cancel();
      oftener = null;
      give(clock.now() + RESTING_MS - WORKING_MS);
    } else if (oftener === null) {
      give(clock.now());
      oftener = clock.every(WORKING_MS, () => give(clock.now()));
    }
  });
}
