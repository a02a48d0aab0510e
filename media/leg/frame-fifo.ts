/**
 * Connects a source with its own timing (blocks of about 10 ms) to the slots of a leg. Audio that arrives
 * late in a burst is kept and played: a recogniser copes better with a late word than with half a word. The
 * resulting delay is reduced in pauses. After an underrun the queue starts with a larger stock, which shrinks
 * again when it is not needed.
 */

import { FRAME_MS, type FrameKind } from '../dsp/frame.ts';
import { isQuiet } from '../dsp/pcm.ts';

/** Initial stock for a source whose blocks arrive every 10 ms, give or take a few, in frames. */
const NEAR_FRAMES = 1.5;
/** The same for blocks that pass through other threads and processes, each of which may be busy briefly. */
export const FAR_FRAMES = 3;
/** Largest initial stock of a queue with repeated underruns. */
const MAX_STOCK_FRAMES = 10;
/** Share of the extra stock that decays with each frame: half of it in about 15 s. */
const STOCK_DECAY = 0.001;
/** An excess over the stock above this is reduced: one frame per slot during pauses ... */
const MAX_EXCESS_FRAMES = 1.5;
/** ... and above this one frame in this many slots during speech, which few people notice. */
const MAX_AUDIBLE_EXCESS_FRAMES = 5;
const SLOTS_BETWEEN_SKIPS = 25;
/** One second: audio delayed further is of no use. */
const MAX_FRAMES = 50;

/** A queue of samples read one frame at a time. */
export class FrameFifo {
  readonly #frame: number;
  readonly #usualFrames: number;
  readonly #samples: Int16Array;
  #length = 0;
  #stockFrames: number;
  #slotsSinceSkip = 0;
  #isPlaying = false;

  /** `frame` is the number of samples per slot, `stockFrames` the stock required before playback starts. */
  constructor(frame: number, stockFrames = NEAR_FRAMES) {
    this.#frame = frame;
    this.#usualFrames = stockFrames;
    this.#stockFrames = stockFrames;
    this.#samples = new Int16Array(frame * (MAX_FRAMES + 1));
  }

  /** Appends a block (at most one frame), dropping the oldest audio above the limit. */
  push(block: Int16Array): void {
    const excess = this.#length + block.length - this.#frame * MAX_FRAMES;
    if (excess > 0) this.#drop(excess);
    this.#samples.set(block, this.#length);
    this.#length += block.length;
  }

  /**
   * Takes one frame; `absent` if there is none. `lateMs` is the lateness of the slot: audio due in the slots
   * right after it is no excess.
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

  /** Skips a frame if the stock is too large: a quiet one, or occasionally any if it is much too large. */
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
