/**
 * Joins a source that delivers audio in its own rhythm (blocks of about 10 ms) to the slots of a leg: a short queue of samples,
 * begun with a little in stock and cut back when the source runs ahead.
 */
import type { FrameKind } from './leg.ts';

/** How much is kept, in frames. */
export interface Stock {
  /** To begin with. */
  readonly prime: number;
  /** More than this is delay nobody gains by. */
  readonly most: number;
}

/** Blocks that come every 10 ms give or take a few, while frames leave every 20 ms. */
const NEAR: Stock = { prime: 1.5, most: 5 };
/** Blocks that come by way of other threads and processes, each of which may be busy for a moment. */
export const FAR: Stock = { prime: 3, most: 10 };

/** A queue of samples read one frame at a time. */
export class FrameFifo {
  readonly #frame: number;
  readonly #stock: Stock;
  readonly #samples: Int16Array;
  #length = 0;
  #isPrimed = false;

  /** `frame` is the number of samples in one slot. */
  constructor(frame: number, stock = NEAR) {
    this.#frame = frame;
    this.#stock = stock;
    this.#samples = new Int16Array(frame * (stock.most + 1));
  }

  /** Appends a block (at most one frame long), dropping the oldest audio beyond the limit. */
  push(block: Int16Array): void {
    const { most } = this.#stock;
    const excess = this.#length + block.length - this.#frame * most;
    if (excess > 0) this.#drop(Math.max(excess, this.#frame * (most - 2)));
    this.#samples.set(block, this.#length);
    this.#length += block.length;
  }

  /** Takes one frame; `absent` while there is none. */
  pull(out: Int16Array): FrameKind {
    this.#isPrimed ||= this.#length >= this.#frame * this.#stock.prime;
    if (!this.#isPrimed || this.#length < this.#frame) {
      this.#isPrimed = false;
      out.fill(0);
      return 'absent';
    }
    out.set(this.#samples.subarray(0, this.#frame));
    this.#drop(this.#frame);
    return out.some((sample) => sample !== 0) ? 'audio' : 'silent';
  }

  #drop(count: number): void {
    const dropped = Math.min(count, this.#length);
    this.#samples.copyWithin(0, dropped, this.#length);
    this.#length -= dropped;
  }
}
