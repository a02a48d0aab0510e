/**
 * Up to which piece everything of a track or log is stored: control planes that hold those pieces drop them.
 */
import type { Clock } from '#base/clock.ts';

/** A track that has sent nothing for so long is over. */
const FORGOTTEN_MS = 15 * 60_000;

interface Stream {
  before: number;
  /** Ends of what is stored after that, by its beginning. */
  readonly later: Map<number, number>;
  lastMs: number;
}

/** The stored pieces of all tracks and logs of one worker. */
export class StoredPieces {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #streams = new Map<string, Stream>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** All pieces before this one are stored. */
  before(stream: string): number {
    return this.#streams.get(stream)?.before ?? 0;
  }

  /** These are stored, up to `to` (exclusive). */
  add(stream: string, from: number, to: number): void {
    const nowMs = this.#clock.now();
    for (const [key, { lastMs }] of this.#streams)
      if (nowMs - lastMs > FORGOTTEN_MS) this.#streams.delete(key);
    const found = this.#streams.get(stream) ?? { before: 0, later: new Map(), lastMs: nowMs };
    found.lastMs = nowMs;
    found.later.set(from, to);
    for (let end = found.later.get(found.before); end !== undefined; end = found.later.get(found.before)) {
      found.later.delete(found.before);
      found.before = end;
    }
    this.#streams.set(stream, found);
  }
}
