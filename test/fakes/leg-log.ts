/** Collects a leg's events for a test and waits, with a deadline, for a given one. */
import { systemClock } from '#base/clock.ts';
import { FRAME_KINDS, FRAME_MS, type FrameKind } from '#media/dsp/frame.ts';
import type { Leg, LegEvent } from '#media/leg/leg.ts';

/** Long, because a busy machine takes many seconds; only an event that never arrives hits it. */
const DEADLINE_MS = 30_000;

type Of<T extends LegEvent['type']> = Extract<LegEvent, { type: T }>;

/** One 20 ms frame of caller audio. */
export interface HeardFrame {
  readonly slot: number;
  readonly atMs: number;
  readonly kind: FrameKind | undefined;
  readonly samples: Int16Array;
}

export class LegLog {
  readonly events: LegEvent[] = [];
  readonly #waiting = new Set<() => void>();

  constructor(leg: Leg) {
    leg.listen((events) => {
      this.events.push(...events);
      for (const check of [...this.#waiting]) check();
    });
  }

  /** All events of this type so far. */
  all<T extends LegEvent['type']>(type: T): Of<T>[] {
    return this.events.filter((event): event is Of<T> => event.type === type);
  }

  /** Caller audio so far, split into frames; an event carries several. */
  frames(): HeardFrame[] {
    return this.all('audio').flatMap(({ slot, atMs, kinds, samples }) => {
      const length = samples.length / kinds.length;
      return Array.from(kinds, (kind, n) => ({
        slot: slot + n,
        atMs: atMs + n * FRAME_MS,
        kind: FRAME_KINDS[kind],
        samples: samples.subarray(n * length, (n + 1) * length),
      }));
    });
  }

  /** The first event of this type that matches, past or future. */
  async next<T extends LegEvent['type']>(
    type: T,
    matches: (event: Of<T>) => boolean = () => true,
    deadlineMs = DEADLINE_MS,
  ): Promise<Of<T>> {
    const deadline = new AbortController();
    const timer = systemClock.after(deadlineMs, () =>
      deadline.abort(new Error(`no ${type} within ${deadlineMs} ms`)),
    );
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
