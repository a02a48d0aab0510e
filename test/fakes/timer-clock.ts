/** Repeated timers and sleeping, made of single timers, for clocks of tests. */
import type { Clock, Timer } from '#base/clock.ts';

/** A clock of which only the time and the single timer are left to write. */
export abstract class TimerClock implements Clock {
  abstract now(): number;
  abstract wallTime(): number;
  abstract after(ms: number, callback: () => void): Timer;

  every(ms: number, callback: () => void): Timer {
    const again = (): void => {
      timer = this.after(ms, again);
      callback();
    };
    let timer = this.after(ms, again);
    return { cancel: () => timer.cancel() };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        timer.cancel();
        reject(signal?.reason);
      };
      const timer = this.after(ms, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}
