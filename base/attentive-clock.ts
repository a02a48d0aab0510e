/**
 * Timeouts for remote peers, extended by the time our own event loop was blocked: an answer that waits unread
 * is not late, and a busy worker must not treat its vendors as broken.
 */
import type { Clock, Timer } from './clock.ts';

/** How often to check whether the thread runs, ms. */
const LOOK_MS = 50;
/** Timers are always slightly late, ms. */
const TOLERANCE_MS = 10;
/** Maximum extension, as a share of the requested time, because callers of this thread wait longer too. */
const MAX_EXTENSION = 2;

/**
 * `now`, `wallTime`, `every` and `sleep` are those of `clock`; `after` adds the time by which timers of this
 * thread were late. Monitors the thread while such a timeout is pending: a worker without calls sleeps.
 */
export function attentiveClock(clock: Clock): Clock {
  let heldUpMs = 0;
  let lookedMs = 0;
  const pending = new Set<object>();
  let looking: Timer | null = null;
  const heldUp = () => heldUpMs + Math.max(0, clock.now() - lookedMs - LOOK_MS - TOLERANCE_MS);
  const begin = (timeout: object) => {
    pending.add(timeout);
    if (looking) return;
    lookedMs = clock.now();
    looking = clock.every(LOOK_MS, () => {
      heldUpMs = heldUp();
      lookedMs = clock.now();
    });
  };
  const end = (timeout: object) => {
    pending.delete(timeout);
    if (pending.size > 0) return;
    looking?.cancel();
    looking = null;
  };
  return {
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    every: (ms, callback) => clock.every(ms, callback),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    after(ms, callback) {
      const timeout = {};
      begin(timeout);
      let dueMs = clock.now() + ms;
      let countedMs = heldUp();
      const latestMs = dueMs + MAX_EXTENSION * ms;
      const fire = () => {
        const missedMs = heldUp() - countedMs;
        if (missedMs < 1 || dueMs >= latestMs) {
          end(timeout);
          return callback();
        }
        countedMs += missedMs;
        dueMs = Math.min(latestMs, dueMs + missedMs);
        // At least briefly, so that data that has already arrived is read.
        timer = clock.after(Math.max(1, dueMs - clock.now()), fire);
      };
      let timer = clock.after(ms, fire);
      return {
        cancel: () => {
          timer.cancel();
          end(timeout);
        },
      };
    },
  };
}
