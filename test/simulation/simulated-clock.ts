/** Virtual time for whole calls: jumps from timer to timer and lets promises settle in between. */
import type { Clock, Timer } from '#base/clock.ts';
import { TimerClock } from '#test/fakes/timer-clock.ts';

/** Wall time at virtual time 0. */
export const SIMULATED_EPOCH_MS = Date.UTC(2026, 0, 1);

interface Pending {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * The clock of one simulation; `forCall` counts the product's timers separately from those of the simulated
 * world.
 */
export class SimulatedClock extends TimerClock {
  #nowMs = 1_000;
  #order = 0;
  readonly #pending: Pending[] = [];

  now(): number {
    return this.#nowMs;
  }

  wallTime(): number {
    return SIMULATED_EPOCH_MS + this.#nowMs;
  }

  after(ms: number, callback: () => void): Timer {
    const entry = { dueMs: this.#nowMs + Math.max(0, ms), order: this.#order++, callback };
    let at = this.#pending.length;
    // Sorted latest first, because the next timer is popped from the end.
    while (at > 0 && (this.#pending[at - 1] as Pending).dueMs <= entry.dueMs) at--;
    this.#pending.splice(at, 0, entry);
    return {
      cancel: () => {
        const index = this.#pending.indexOf(entry);
        if (index >= 0) this.#pending.splice(index, 1);
      },
    };
  }

  /** This clock, counting the timers set through it. */
  forCall(): Clock & { pending(): number } {
    let pending = 0;
    const after = (ms: number, callback: () => void): Timer => {
      pending += 1;
      let isOpen = true;
      const close = () => {
        if (isOpen) pending -= 1;
        isOpen = false;
      };
      const timer = this.after(ms, () => {
        close();
        callback();
      });
      return {
        cancel: () => {
          close();
          timer.cancel();
        },
      };
    };
    return {
      now: () => this.now(),
      wallTime: () => this.wallTime(),
      after,
      every: (ms, callback) => this.every(ms, callback),
      sleep: (ms, signal) => this.sleep(ms, signal),
      pending: () => pending,
    };
  }

  /** The machine is suspended: all timers due in the meantime fire late, in order. */
  jump(ms: number): void {
    this.#nowMs += ms;
  }

  /** Runs until `isDone`, until no timers remain, or until `untilMs`. */
  async run(isDone: () => boolean, untilMs: number): Promise<void> {
    await settled();
    while (!isDone()) {
      const next = this.#pending.at(-1);
      if (!next || next.dueMs > untilMs) {
        this.#nowMs = untilMs;
        return;
      }
      this.#pending.pop();
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.callback();
      await settled();
    }
  }
}

/** Settles all promises that need no time to pass. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
