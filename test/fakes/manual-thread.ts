/** A thread on which time passes with a test's clock, and everything is read at once. */
import type { PacerThread } from '#media/leg/pacer-thread.ts';
import type { ManualClock } from './manual-clock.ts';

/** The thread of a pacer on `clock`. */
export function manualThread(clock: ManualClock): PacerThread {
  return {
    hold: (ms) => clock.stall(ms),
    afterReading: (callback) => clock.after(0, callback),
  };
}
