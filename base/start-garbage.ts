/**
 * Gives back the memory that the start of a thread has left behind: V8 collects it only once the heap is
 * full, which takes hours without calls.
 */
import { availableParallelism, loadavg } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock, Timer } from './clock.ts';

/** By then, what is loaded after the start is loaded too. */
const REST_MS = 15_000;
/** The first leaves what a second one finds to be unused. */
const COLLECTIONS = 2;

/**
 * Collects twice, some time after the start, when the thread is idle and the machine not overloaded: the
 * pause takes some tens of ms, and many times as long where others use the processors. Cancel it for a thread
 * that is to end by itself.
 */
export function collectStartGarbage(
  clock: Clock,
  isIdle: () => boolean = () => true,
  { isMachineIdle = isMachineFree, collect = collectNow } = {},
): Timer {
  let left = COLLECTIONS;
  const timer = clock.every(REST_MS, () => {
    if (!isIdle() || !isMachineIdle() || !collect()) return;
    left -= 1;
    if (left === 0) timer.cancel();
  });
  return timer;
}

/** Load of the last minute per processor, above which a pause would take many times as long. */
const MOST_LOAD = 2;

/** True where the system does not tell its load. */
function isMachineFree(): boolean {
  return (loadavg()[0] ?? 0) < MOST_LOAD * availableParallelism();
}

/**
 * False if another thread has just taken the flag back, which is one for the whole process. It does not stay
 * set: V8 refuses code that was compiled with other flags, and for threads that start later the compile cache
 * would be of no use.
 */
function collectNow(): boolean {
  setFlagsFromString('--expose-gc');
  // Only a context created now has the function.
  const gc = runInNewContext('typeof gc === "function" ? gc : null') as (() => void) | null;
  setFlagsFromString('--no-expose-gc');
  gc?.();
  return gc !== null;
}
