/**
 * The only way to read the time and to wait: every part that needs time gets a `Clock`. Tests pass a manual
 * clock. Only this file and the media thread's pacer call the platform's timers.
 */
import { SharedTicks } from './shared-ticks.ts';

/** A pending timer; `cancel` is idempotent and safe after it fired. */
export interface Timer {
  cancel(): void;
}

/** Monotonic time, wall time and waiting. All durations are milliseconds. */
export interface Clock {
  /**
   * Milliseconds of the machine's monotonic clock: the same in every thread and process of a machine, never
   * going back.
   */
  now(): number;
  /** Milliseconds since 1970-01-01T00:00:00Z; only for people and other systems. */
  wallTime(): number;
  /** Calls `callback` once after `ms`. */
  after(ms: number, callback: () => void): Timer;
  /** Calls `callback` every `ms` until cancelled. The first call may come up to a second later. */
  every(ms: number, callback: () => void): Timer;
  /** Resolves after `ms`; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

const now = () => Number(process.hrtime.bigint() / 1000n) / 1000;
const after = (ms: number, callback: () => void): Timer => {
  const handle = setTimeout(callback, ms);
  return { cancel: () => clearTimeout(handle) };
};
const ticks = new SharedTicks({ now, after: (ms, callback) => after(Math.ceil(ms), callback) });

/** The machine's own clock. */
export const systemClock: Clock = {
  now,
  wallTime: () => Date.now(),
  after,
  every(ms, callback) {
    if (SharedTicks.fits(ms)) return ticks.every(ms, callback);
    const handle = setInterval(callback, ms);
    return { cancel: () => clearInterval(handle) };
  },
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        clearTimeout(handle);
        reject(signal?.reason);
      };
      const handle = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, ms);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  },
};
