/** Collects a leg's events for a test, and waits for the one that matters with a deadline. */
import { systemClock } from '#config/clock.ts';
import type { Leg, LegEvent } from '#media/leg.ts';

type Of<T extends LegEvent['type']> = Extract<LegEvent, { type: T }>;

export class LegLog {
  readonly events: LegEvent[] = [];
  readonly #waiting = new Set<() => void>();

  constructor(leg: Leg) {
    leg.listen((events) => {
      this.events.push(...events);
      for (const check of [...this.#waiting]) check();
    });
  }

  /** Every event of this type so far. */
  all<T extends LegEvent['type']>(type: T): Of<T>[] {
    return this.events.filter((event): event is Of<T> => event.type === type);
  }

  /** The first event of this type that matches, past or future. */
  async next<T extends LegEvent['type']>(type: T, matches: (event: Of<T>) => boolean = () => true, deadlineMs = 5000): Promise<Of<T>> {
    const deadline = new AbortController();
    const timer = systemClock.after(deadlineMs, () => deadline.abort(new Error(`no ${type} within ${deadlineMs} ms`)));
    try {
      return await new Promise((resolve, reject) => {
        const check = () => {
          const found = this.all(type).find(matches);
          if (!found) return;
          this.#waiting.delete(check);
          resolve(found);
        };
        deadline.signal.addEventListener('abort', () => reject(deadline.signal.reason));
        this.#waiting.add(check);
        check();
      });
    } finally {
      timer.cancel();
    }
  }
}
