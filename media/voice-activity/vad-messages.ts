/**
 * What the media thread and the speech detector's thread say to each other, and how windows are gathered for
 * it.
 */
import type { VoiceRateHz } from './silero.ts';

/** Media thread → detector. */
export type ToDetector =
  | { readonly type: 'open'; readonly stream: number; readonly rateHz: VoiceRateHz }
  | { readonly type: 'close'; readonly stream: number }
  /** Whole windows of many streams: `heads` names each, `samples` their audio one after the other. */
  | { readonly type: 'windows'; readonly heads: Int32Array; readonly samples: Int16Array }
  /** Ends the thread once what is running has run. */
  | { readonly type: 'stop' };

/** Detector → media thread. */
export type FromDetector =
  | { readonly type: 'ready' }
  /** The probability of each window of `heads`. */
  | { readonly type: 'scores'; readonly heads: Int32Array; readonly probabilities: Float32Array };

/** Numbers in `heads` for each window: its stream, its number within that, and its length in samples. */
export const HEAD_NUMBERS = 3;

/** Room for this many windows to begin with; grows with use. */
const FIRST_CAPACITY_WINDOWS = 32;
const FIRST_CAPACITY_SAMPLES = 8192;

/** Gathers windows of many streams into one message. */
export class WindowBatch {
  #heads = new Int32Array(FIRST_CAPACITY_WINDOWS * HEAD_NUMBERS);
  #headNumbers = 0;
  #samples = new Int16Array(FIRST_CAPACITY_SAMPLES);
  #sampleCount = 0;

  get isEmpty(): boolean {
    return this.#headNumbers === 0;
  }

  /** Adds one window; the samples are copied. */
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

  /** All of them, in arrays of their own, and empties the batch. */
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
