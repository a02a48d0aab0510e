/**
 * Collects the garbage of a thread that does no work, so that its memory goes back to the system: V8 collects
 * it only once the heap is full, which takes hours without calls.
 */
import { flushCompileCache } from 'node:module';
import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock, Timer } from './clock.ts';

/** Period after which a thread is looked at, ms. */
const LOOK_MS = 10_000;
/** A thread is at rest if its event loop was busy for a smaller share of the period. */
const REST_UTILISATION = 0.02;
/** Less garbage is not worth the pause of some tens of ms as soon as a thread rests, bytes. */
const WORTH_BYTES = 16 * 1_048_576;
/**
 * A thread that goes on resting collects even so little, bytes: a dozen threads would keep a hundred MiB
 * otherwise. Once, because an idle thread makes garbage, too, and each collection costs CPU.
 */
const WORTH_ONCE_BYTES = 1_048_576;
/** Periods at rest after which it does. */
const LONG_REST = 3;

/**
 * Collects the garbage that the start of a thread has left: for a thread that has loaded its code and does no
 * work yet, because it pauses for some tens of ms. False if another thread has just taken the flag back,
 * which is one for the whole process: then the garbage stays.
 *
 * Also stores the thread's compiled code for the next start: it is lost if the process is killed, and the
 * compiler of TypeScript takes 12 MiB in each process that needs it.
 */
export function collectStartGarbage(): boolean {
  const isCollected = collectGarbage();
  flushCompileCache();
  return isCollected;
}

/** The memory and the load of a thread. Tests have one of their own. */
export interface GarbageThread {
  /** Share of the time since the last reading in which the event loop was busy. */
  utilisation(): number;
  /** Bytes in use, garbage included. */
  usedBytes(): number;
  /** False if it could not be done now. */
  collect(): boolean;
}

/**
 * Collects the garbage of this thread whenever it has been at rest for ten seconds and has gained 16 MiB
 * since the last time, and once if it has been at rest for thirty seconds and has gained 1 MiB. `isAtRest`:
 * false while a pause of some tens of ms would be noticed.
 */
export function collectGarbageAtRest(
  clock: Pick<Clock, 'every'>,
  isAtRest: () => boolean = () => true,
  thread: GarbageThread = thisThread(),
): Timer {
  let leftBytes = thread.usedBytes();
  let rests = 0;
  return clock.every(LOOK_MS, () => {
    rests = thread.utilisation() < REST_UTILISATION && isAtRest() ? rests + 1 : 0;
    const usedBytes = thread.usedBytes();
    // V8 may have collected by itself meanwhile.
    leftBytes = Math.min(leftBytes, usedBytes);
    const worthBytes = rests === LONG_REST ? WORTH_ONCE_BYTES : WORTH_BYTES;
    if (rests > 0 && usedBytes - leftBytes >= worthBytes && thread.collect()) leftBytes = thread.usedBytes();
  });
}

function thisThread(): GarbageThread {
  let last: EventLoopUtilization = performance.eventLoopUtilization();
  return {
    utilisation() {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
    usedBytes() {
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    },
    collect: collectGarbage,
  };
}

/**
 * The flag does not stay set: V8 refuses code that was compiled with other flags, and for threads that start
 * later the compile cache would be of no use.
 */
function collectGarbage(): boolean {
  setFlagsFromString('--expose-gc');
  // Only a context created now has the function.
  const gc = runInNewContext('typeof gc === "function" ? gc : null') as (() => void) | null;
  setFlagsFromString('--no-expose-gc');
  gc?.();
  return gc !== null;
}
