/**
 * Messages between the media thread and the speech detector's thread, and how windows are collected for them.
 */
import type { VoiceRateHz } from './silero.ts';

/** Media thread → detector. */
export type ToDetector =
  | { readonly type: 'open'; readonly stream: number; readonly rateHz: VoiceRateHz }
  | { readonly type: 'close'; readonly stream: number }
  /** Whole windows of many streams: `heads` identifies each, `samples` contains their audio in order. */
  | { readonly type: 'windows'; readonly heads: Int32Array; readonly samples: Int16Array }
  /** Ends the thread after the current run. */
  | { readonly type: 'stop' };

/** Detector → media thread. */
export type FromDetector =
  | { readonly type: 'ready' }
  /** The probability of each window in `heads`. */
  | { readonly type: 'scores'; readonly heads: Int32Array; readonly probabilities: Float32Array };

/** Numbers in `heads` per window: its stream, its number within the stream, and its length in samples. */
export const HEAD_NUMBERS = 3;

/** Initial room, in windows; grows as needed. */
const FIRST_CAPACITY_WINDOWS = 32;
const FIRST_CAPACITY_SAMPLES = 8192;

/** Collects windows of many streams into one message. */
export class WindowBatch {
  #heads = new Int32Array(FIRST_CAPACITY_WINDOWS * HEAD_NUMBERS);
  #headNumbers = 0;
  #samples = new Int16Array(FIRST_CAPACITY_SAMPLES);
  #sampleCount = 0;

  get isEmpty(): boolean {
    return this.#headNumbers === 0;
  }

  /** Adds one window; copies the samples. */
  add(stream: number, window: number, samples: Int16Array): void {
    if (this.#headNumbers === this.#heads.length)
      this.#heads = grown(this.#heads, new Int32Array(this.#heads.length * 2));
    if (this.#sampleCount + samples.length > this.#samples.length)
      this.#samples = grown(this.#samples, new Int16Array(this.#samples.length * 2));
    this.#heads[this.#headNumbers] = stream;
    this.#heads[this.#headNumbers + 1] = window;
    this.#heads[this.#headNumbers + 2] = samples.length;
    this.#headNumbers += HEAD_NUMBERS;
    this.#samples.set(samples, this.#sampleCount);
    this.#sampleCount += samples.length;
  }

  /** Returns all windows in new arrays, and empties the batch. */
  take(): { readonly heads: Int32Array<ArrayBuffer>; readonly samples: Int16Array<ArrayBuffer> } {
    const taken = {
      heads: this.#heads.slice(0, this.#headNumbers),
      samples: this.#samples.slice(0, this.#sampleCount),
    };
    this.#headNumbers = 0;
    this.#sampleCount = 0;
    return taken;
  }
}

function grown<Numbers extends Int16Array | Int32Array>(from: Numbers, to: Numbers): Numbers {
  to.set(from);
  return to;
}
