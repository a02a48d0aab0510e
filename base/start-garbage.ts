/**
 * Gives back the memory that the start of a thread has left behind: V8 collects it only once the heap is
 * full, which takes hours without calls.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock, Timer } from './clock.ts';
import { readTimeUse, wasProcessorFree, wasThreadQuiet } from './quiet.ts';

/** By then, what is loaded after the start is loaded too. */
const FIRST_REST_MS = 15_000;
const LONGEST_REST_MS = 600_000;
/** How long thread and machine must have been quiet before a collection. */
const WATCH_MS = 1_000;

/** What a collection depends on besides calls; the product's own if left out. */
interface Collecting {
  readonly timeUse?: typeof readTimeUse;
  /** Each collects for one thread; false: not now. */
  readonly collections?: readonly (() => boolean)[];
}

/**
 * Collects once, some time after the start, when the thread is idle; what is left V8 then gives back in small
 * steps. The pause takes some tens of ms, and seconds where others use the processors. So it comes only if
 * for a second before it the thread had next to nothing to do and a processor was free: whoever begins a call
 * would have made them work. Otherwise it looks again, after twice the time. Where nothing is known of the
 * processors, the garbage stays. Several collections come one after another, each after such a second. Cancel
 * it for a thread that is to end by itself.
 */
export function collectStartGarbage(
  clock: Clock,
  isIdle: () => boolean,
  { timeUse = readTimeUse, collections = [collectGarbage] }: Collecting = {},
): Timer {
  const left = [...collections];
  let timer: Timer;
  const rest = (ms: number) => {
    timer = clock.after(ms, () => {
      if (!isIdle()) return rest(ms);
      const [before, sinceMs] = [timeUse(), clock.now()];
      timer = clock.after(WATCH_MS, () => {
        const [now, passedMs] = [timeUse(), clock.now() - sinceMs];
        const wasQuiet =
          wasThreadQuiet(before, now, passedMs) && wasProcessorFree(before, now, passedMs) === true;
        if (!isIdle() || !wasQuiet || left[0]?.() !== true) return rest(Math.min(2 * ms, LONGEST_REST_MS));
        left.shift();
        if (left.length > 0) rest(FIRST_REST_MS);
      });
    });
  };
  rest(FIRST_REST_MS);
  return { cancel: () => timer.cancel() };
}

/**
 * Collects all garbage of this thread. False if another thread has just taken the flag back, which is one for
 * the whole process. It does not stay set: V8 refuses code that was compiled with other flags, and for
 * threads that start later the compile cache would be of no use.
 */
export function collectGarbage(): boolean {
  setFlagsFromString('--expose-gc');
  // Only a context created now has the function.
  const gc = runInNewContext('typeof gc === "function" ? gc : null') as (() => void) | null;
  setFlagsFromString('--no-expose-gc');
  gc?.();
  return gc !== null;
}
