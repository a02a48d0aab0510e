/** Waits without giving up the thread, for spans that timers cannot measure. */
const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** Blocks this thread for `ms`, fractions included. Nothing else of the thread runs meanwhile. */
export function holdThread(ms: number): void {
  Atomics.wait(never, 0, 0, ms);
}
