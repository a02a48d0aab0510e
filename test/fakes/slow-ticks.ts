/** A real clock whose timers of a minute or more tick only when a test says so. */
import { type Clock, systemClock } from '#base/clock.ts';

const SLOW_MS = 60_000;

/** The clock, and what its slow timers do. */
export class SlowTicks {
  readonly #ticks = new Set<() => void>();
  readonly clock: Clock = {
    ...systemClock,
    every: (ms, tick) => {
      if (ms < SLOW_MS) return systemClock.every(ms, tick);
      this.#ticks.add(tick);
      return { cancel: () => void this.#ticks.delete(tick) };
    },
  };

  /** Lets every slow timer tick once. */
  tick(): void {
    for (const tick of [...this.#ticks]) tick();
  }
}
