/**
 * A clock that only advances when a test advances it: timers fire in order of their due time, and each sees
 * its own due time as now.
 */
import type { Timer } from '#base/clock.ts';
import { TimerClock } from './timer-clock.ts';

interface Pending {
  dueMs: number;
  order: number;
  callback: () => void;
}

/** A `Clock` under the test's control. */
export class ManualClock extends TimerClock {
  #nowMs = 0;
  #order = 0;
  readonly #wallOriginMs: number;
  readonly #pending = new Set<Pending>();

  constructor(wallOriginMs = Date.UTC(2026, 0, 1)) {
    super();
    this.#wallOriginMs = wallOriginMs;
  }

  now(): number {
    return this.#nowMs;
  }

  wallTime(): number {
    return this.#wallOriginMs + this.#nowMs;
  }

  after(ms: number, callback: () => void): Timer {
    const entry = { dueMs: this.#nowMs + Math.max(0, ms), order: this.#order++, callback };
    this.#pending.add(entry);
    return { cancel: () => void this.#pending.delete(entry) };
  }

  /** Number of pending timers; a test asserts 0 to prove that nothing leaked. */
  get pendingTimers(): number {
    return this.#pending.size;
  }

  /** Due time of the earliest timer in ms; undefined without timers. */
  get nextDueMs(): number | undefined {
    return this.#earliest()?.dueMs;
  }

  /** Time passes and no timer fires, as in a process that stands still; `advance` fires them late. */
  stall(ms: number): void {
    this.#nowMs += ms;
  }

  /** Advances time by `ms` and fires due timers; promise callbacks run between timers. */
  async advance(ms: number): Promise<void> {
    const targetMs = this.#nowMs + ms;
    await settle();
    for (;;) {
      const next = this.#earliest();
      if (!next || next.dueMs > targetMs) break;
      this.#pending.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.callback();
      await settle();
    }
    this.#nowMs = targetMs;
  }

  #earliest(): Pending | undefined {
    let first: Pending | undefined;
    for (const entry of this.#pending) {
      if (!first || entry.dueMs < first.dueMs || (entry.dueMs === first.dueMs && entry.order < first.order))
        first = entry;
    }
    return first;
  }
}

/** Runs the callbacks of resolved promises without advancing time. */
async function settle(): Promise<void> {
  for (let round = 0; round < 8; round++) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
}
