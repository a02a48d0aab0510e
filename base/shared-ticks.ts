/**
 * Repeated timers that fire together: those of one thread whose intervals are whole half-seconds are due on
 * the half-seconds since its start, those of whole seconds on the seconds, so that an idle thread wakes up
 * once for all of them. Each thread counts from its own start, so that those of a machine do not all wake up
 * at once.
 */
import { AsyncResource } from 'node:async_hooks';

/** A pending timer; `clock.ts`, which uses this file, has the full description. */
interface Timer {
  cancel(): void;
}

/** Time and single timers. */
interface SingleTimers {
  now(): number;
  after(ms: number, callback: () => void): Timer;
}

const GRID_MS = 500;
const WHOLE_MS = 1_000;
/**
 * Node’s timers count whole milliseconds and may fire a little early. A tick that is due so soon counts as
 * due; the time of the next one is computed from when it was due, so that none fires twice.
 */
const EARLY_MS = 5;

interface Tick {
  readonly everyMs: number;
  readonly callback: () => void;
  dueMs: number;
}

/** The repeated timers of one thread. */
export class SharedTicks {
  readonly #clock: SingleTimers;
  readonly #originMs: number;
  readonly #ticks = new Set<Tick>();
  #timer: Timer | null = null;
  #timerMs = 0;

  constructor(clock: SingleTimers) {
    this.#clock = clock;
    this.#originMs = clock.now();
  }

  /** Whether timers with this interval can fire together. */
  static fits(everyMs: number): boolean {
    return everyMs > 0 && everyMs % GRID_MS === 0;
  }

  /**
   * As `Clock.every`; the first call comes up to a second later. Where each call comes late, the next one
   * follows no later than with a timer of its own, and up to half a second earlier.
   */
  every(everyMs: number, callback: () => void): Timer {
    const stepMs = everyMs % WHOLE_MS === 0 ? WHOLE_MS : GRID_MS;
    const dueMs = this.#gridAt(this.#clock.now() + everyMs - EARLY_MS, Math.ceil, stepMs);
    // A tick runs in the async context of the code that asked for it, whichever code set the common timer.
    const tick = { everyMs, callback: AsyncResource.bind(callback), dueMs };
    this.#ticks.add(tick);
    this.#setTimer();
    return {
      cancel: () => {
        this.#ticks.delete(tick);
        this.#setTimer();
      },
    };
  }

  /** The time at which ticks may be due that is before or after this one. */
  #gridAt(ms: number, round: (steps: number) => number, stepMs = GRID_MS): number {
    return this.#originMs + round((ms - this.#originMs) / stepMs) * stepMs;
  }

  #setTimer(): void {
    const nextMs = Math.min(...Array.from(this.#ticks, ({ dueMs }) => dueMs));
    if (this.#timer && this.#timerMs === nextMs) return;
    this.#timer?.cancel();
    this.#timerMs = nextMs;
    this.#timer =
      this.#ticks.size === 0
        ? null
        : this.#clock.after(Math.max(1, nextMs - this.#clock.now()), () => this.#fire());
  }

  #fire(): void {
    this.#timer = null;
    const nowMs = this.#clock.now();
    for (const tick of [...this.#ticks]) {
      // An earlier one may have cancelled it.
      if (tick.dueMs > nowMs + EARLY_MS || !this.#ticks.has(tick)) continue;
      // Those missed while the thread was held up are left out.
      tick.dueMs = this.#gridAt(nowMs + tick.everyMs + EARLY_MS, Math.floor);
      try {
        tick.callback();
      } catch (error) {
        // Uncaught as with a timer of its own; the others are called all the same.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
    this.#setTimer();
  }
}
