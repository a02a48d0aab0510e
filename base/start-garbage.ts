/**
 * Gives back the memory that the start of a thread has left behind: V8 collects it only once the heap is
 * full, which takes hours without calls.
 */
import { flushCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects all garbage of this thread: for a thread that has loaded its code and does no work yet, because it
 * pauses for some tens of ms. False if another thread has just taken the flag back, which is one for the
 * whole process: then the garbage stays. The flag does not stay set: V8 refuses code that was compiled with
 * other flags, and for threads that start later the compile cache would be of no use.
 *
 * Also stores the thread's compiled code for the next start: it is lost if the process is killed, and the
 * compiler of TypeScript takes 12 MiB in each process that needs it.
 */
export function collectStartGarbage(): boolean {
  setFlagsFromString('--expose-gc');
  // Only a context created now has the function.
  const gc = runInNewContext('typeof gc === "function" ? gc : null') as (() => void) | null;
  setFlagsFromString('--no-expose-gc');
  gc?.();
  flushCompileCache();
  return gc !== null;
}
