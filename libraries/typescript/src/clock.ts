/** Time, for the library: tests hand in a clock of their own. */

/** Wall time and timers. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  wallTime(): number;
  /** Calls `callback` once after `ms`. */
  after(ms: number, callback: () => void): { cancel(): void };
}

/** The machine's clock. */
export const machineClock: Clock = {
  wallTime: () => Date.now(),
  after(ms, callback) {
    const handle = setTimeout(callback, ms);
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `ms`; rejects with the signal's reason as soon as it is aborted. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
