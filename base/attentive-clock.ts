/**
 * Timeouts for remote peers, extended by the time our own event loop was blocked: an answer that waits unread
 * is not late, and a busy worker must not treat its vendors as broken.
 */
import type { Clock } from './clock.ts';

/** How often it looks whether the thread gets to run, ms. */
const LOOK_MS = 50;
/** Timers are never quite on time, ms. */
const TOLERANCE_MS = 10;
/**
 * At most so much longer, as a share of what was asked for: whoever waits behind this thread waits for it as
 * well.
 */
const MOST_EXTENSION = 2;

/**
 * `now`, `wallTime`, `every` and `sleep` are those of `clock`; `after` adds the time in which timers of this
 * thread were late. Looks for it for as long as the thread lives.
 */
export function attentiveClock(clock: Clock): Clock {
  let heldUpMs = 0;
  let lookedMs = clock.now();
  const heldUp = () => heldUpMs + Math.max(0, clock.now() - lookedMs - LOOK_MS - TOLERANCE_MS);
  clock.every(LOOK_MS, () => {
    heldUpMs = heldUp();
    lookedMs = clock.now();
  });
  return {
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    every: (ms, callback) => clock.every(ms, callback),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    after(ms, callback) {
      let dueMs = clock.now() + ms;
      let countedMs = heldUp();
      const latestMs = dueMs + MOST_EXTENSION * ms;
      const fire = () => {
        const missedMs = heldUp() - countedMs;
        if (missedMs < 1 || dueMs >= latestMs) return callback();
        countedMs += missedMs;
        dueMs = Math.min(latestMs, dueMs + missedMs);
        // A moment at least, in which what has come is read.
        timer = clock.after(Math.max(1, dueMs - clock.now()), fire);
      };
      let timer = clock.after(ms, fire);
      return { cancel: () => timer.cancel() };
    },
  };
}
