/**
 * Joins a source that delivers audio in its own rhythm (blocks of about 10 ms) to the slots of a leg. What
 * comes late in a bunch is kept and played on, as a recogniser would rather hear a word later than half of
 * it; the delay that leaves is made up for in pauses. A source that ran dry is begun with more in stock the
 * next time, and with less again when that was not needed for a while.
 */

import { isQuiet } from '../dsp/pcm.ts';
import { FRAME_MS, type FrameKind } from './leg.ts';

/** What a source of blocks that come every 10 ms give or take a few is begun with, in frames. */
const NEAR_FRAMES = 1.5;
/**
 * The same for blocks that come by way of other threads and processes, each of which may be busy for a
 * moment.
 */
export const FAR_FRAMES = 3;
/** What a queue that keeps running dry is begun with at most. */
const MAX_STOCK_FRAMES = 10;
/**
 * Share of what was wanted beyond the usual stock that is forgotten with each frame: half of it in about 15
 * s.
 */
const STOCK_DECAY = 0.001;
/** More than this over the stock is made up for: in pauses a frame with each slot ... */
const MAX_EXCESS_FRAMES = 1.5;
/** ... and beyond this, where there are no pauses, a frame in so many slots, which few hear. */
const MAX_AUDIBLE_EXCESS_FRAMES = 5;
const SLOTS_BETWEEN_SKIPS = 25;
/** A second: nobody gains by more delay. */
const MOST_FRAMES = 50;

/** A queue of samples read one frame at a time. */
export class FrameFifo {
  readonly #frame: number;
  readonly #usualFrames: number;
  readonly #samples: Int16Array;
  #length = 0;
  #stockFrames: number;
  #slotsSinceSkip = 0;
  #isPlaying = false;

  /**
   * `frame` is the number of samples in one slot, `stockFrames` what is waited for before the first is
   * played.
   */
  constructor(frame: number, stockFrames = NEAR_FRAMES) {
    this.#frame = frame;
    this.#usualFrames = stockFrames;
    this.#stockFrames = stockFrames;
    this.#samples = new Int16Array(frame * (MOST_FRAMES + 1));
  }

  /** Appends a block (at most one frame long), dropping the oldest audio beyond the limit. */
  push(block: Int16Array): void {
    const excess = this.#length + block.length - this.#frame * MOST_FRAMES;
    if (excess > 0) this.#drop(excess);
    this.#samples.set(block, this.#length);
    this.#length += block.length;
  }

  /**
   * Takes one frame; `absent` while there is none. `lateMs` is how late its slot is served: what is there for
   * the slots right after it is no excess.
   */
  pull(out: Int16Array, lateMs = 0): FrameKind {
    this.#stockFrames -= (this.#stockFrames - this.#usualFrames) * STOCK_DECAY;
    if (this.#isPlaying && this.#length < this.#frame) {
      this.#stockFrames = Math.min(MAX_STOCK_FRAMES, this.#stockFrames + 1);
      this.#isPlaying = false;
    }
    this.#isPlaying ||= this.#length >= this.#frame * this.#stockFrames;
    if (!this.#isPlaying) {
      out.fill(0);
      return 'absent';
    }
    this.#catchUp(lateMs / FRAME_MS);
    out.set(this.#samples.subarray(0, this.#frame));
    this.#drop(this.#frame);
    return out.some((sample) => sample !== 0) ? 'audio' : 'silent';
  }

  /**
   * Skips a frame when there is more in stock than wanted: a quiet one, or now and then any when it is much
   * more.
   */
  #catchUp(owedFrames: number): void {
    this.#slotsSinceSkip++;
    const excessFrames = this.#length / this.#frame - 1 - owedFrames - this.#stockFrames;
    if (excessFrames < MAX_EXCESS_FRAMES) return;
    const maySkipAny =
      excessFrames >= MAX_AUDIBLE_EXCESS_FRAMES && this.#slotsSinceSkip >= SLOTS_BETWEEN_SKIPS;
    if (!maySkipAny && !isQuiet(this.#samples.subarray(0, this.#frame))) return;
    this.#slotsSinceSkip = 0;
    this.#drop(this.#frame);
  }

  #drop(count: number): void {
    const dropped = Math.min(count, this.#length);
    this.#samples.copyWithin(0, dropped, this.#length);
    this.#length -= dropped;
  }
}
