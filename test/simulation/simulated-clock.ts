/** Virtual time for whole calls: jumps from timer to timer and lets promises settle in between. */
import type { Clock, Timer } from '#base/clock.ts';
import { TimerClock } from '#test/fakes/timer-clock.ts';

/** Wall time at virtual time 0. */
export const SIMULATED_EPOCH_MS = Date.UTC(2026, 0, 1);

interface Pending {
  readonly dueMs: number;
  readonly order: number;
  /** Null once it is cancelled: it is then dropped when it is due. */
  callback: (() => void) | null;
}

/**
 * The clock of one simulation; `forCall` counts the product's timers separately from those of the simulated
 * world.
 */
export class SimulatedClock extends TimerClock {
  #nowMs = 1_000;
  #order = 0;
  /** A binary heap, the earliest first. */
  readonly #pending: Pending[] = [];
  readonly #timersARound: number;

  /**
   * `timersARound`: how many timers may fire in one round of Node's event loop. More than one is faster, for
   * a world in which nothing waits for the next round.
   */
  constructor(timersARound = 1) {
    super();
    this.#timersARound = timersARound;
  }

  now(): number {
    return this.#nowMs;
  }

  wallTime(): number {
    return SIMULATED_EPOCH_MS + this.#nowMs;
  }

  after(ms: number, callback: () => void): Timer {
    const entry: Pending = { dueMs: this.#nowMs + Math.max(0, ms), order: this.#order++, callback };
    push(this.#pending, entry);
    return {
      cancel: () => {
        entry.callback = null;
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

  /**
   * Runs until `isDone`, until no timers remain, or until `untilMs`. All promises that need no time to pass
   * settle between two timers.
   */
  run(isDone: () => boolean, untilMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let isOver = false;
    const step = () => {
      if (isOver) return;
      try {
        isOver = isDone() || !this.#fire(untilMs);
      } catch (error) {
        isOver = true;
        reject(error);
      }
      if (isOver) resolve();
    };
    const round = () => {
      // Node settles promises between immediates too; a round of its event loop costs as much as many timers.
      for (let timer = 1; timer < this.#timersARound; timer++) setImmediate(step);
      step();
      if (!isOver) setImmediate(round);
    };
    setImmediate(round);
    return promise;
  }

  /** Lets time pass to the next timer and fires it; false if none is due by then. */
  #fire(untilMs: number): boolean {
    for (let next = this.#pending[0]; next && next.dueMs <= untilMs; next = this.#pending[0]) {
      pop(this.#pending);
      if (!next.callback) continue;
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.callback();
      return true;
    }
    this.#nowMs = untilMs;
    return false;
  }
}

function isBefore(one: Pending, other: Pending): boolean {
  return one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.order < other.order);
}

function push(heap: Pending[], entry: Pending): void {
  let at = heap.length;
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above] as Pending;
    if (isBefore(parent, entry)) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = entry;
}

/** Removes the earliest. */
function pop(heap: Pending[]): void {
  const entry = heap.pop() as Pending;
  const { length } = heap;
  if (length === 0) return;
  let at = 0;
  for (let child = 1; child < length; child = 2 * at + 1) {
    if (child + 1 < length && isBefore(heap[child + 1] as Pending, heap[child] as Pending)) child += 1;
    if (isBefore(entry, heap[child] as Pending)) break;
    heap[at] = heap[child] as Pending;
    at = child;
  }
  heap[at] = entry;
}
