/**
 * Linear PCM: a streaming sample-rate converter and the level of a block. Works on mono 16-bit blocks and
 * writes into arrays of the caller.
 */
import { filterBetween, MAX_PIECE_SAMPLES, type PolyphaseFilter, type StreamState } from './polyphase.ts';

/** Level reported for digital silence, dBFS. */
export const SILENCE_DB = -96;

/**
 * RMS level of a block, or of its samples from `from` to `to` (exclusive), in dBFS (a full-scale square wave
 * is 0).
 */
export function levelDb(samples: Int16Array, from = 0, to = samples.length): number {
  // Two sums of integers, both exact: neither addition waits for the other.
  let even = 0;
  let odd = 0;
  let index = from;
  for (; index + 1 < to; index += 2) {
    const first = samples[index] as number;
    const second = samples[index + 1] as number;
    even += first * first;
    odd += second * second;
  }
  const last = index < to ? (samples[index] as number) : 0;
  const energy = even + odd + last * last;
  if (energy === 0 || to <= from) return SILENCE_DB;
  return Math.max(SILENCE_DB, 10 * Math.log10(energy / (to - from) / (32768 * 32768)));
}

/** Highest peak of a frame that can be dropped or doubled inaudibly. */
export const QUIET_PEAK = 400;

/** True if dropping these samples is inaudible. */
export function isQuiet(samples: Int16Array): boolean {
  return samples.every((sample) => Math.abs(sample) <= QUIET_PEAK);
}

/**
 * Streaming polyphase FIR converter between two integer rates. Keeps the history of one stream, so each
 * stream needs its own.
 */
export class Resampler {
  readonly #filter: PolyphaseFilter;
  readonly #state: StreamState;

  constructor(inRateHz: number, outRateHz: number) {
    this.#filter = filterBetween(inRateHz, outRateHz);
    this.#state = { history: new Float32Array(this.#filter.reach), position: 0 };
  }

  /** Most samples that `push` can write for `inputLength` samples of input. */
  outputCapacity(inputLength: number): number {
    return this.#filter.outputs(inputLength) + 1;
  }

  /**
   * Converts one block; returns how many samples were written to `output`, which must hold
   * `outputCapacity(input.length)`.
   */
  push(input: Int16Array, output: Int16Array): number {
    let written = 0;
    for (let from = 0; from < input.length; from += MAX_PIECE_SAMPLES) {
      written += this.#filter.apply(
        input.subarray(from, from + MAX_PIECE_SAMPLES),
        this.#state,
        output,
        written,
      );
    }
    return written;
  }
}

/**
 * Converts the blocks of one stream to a fixed rate, whatever their own rates; each continues where the last
 * ended.
 */
export class RateConverter {
  readonly #outRateHz: number;
  #run: { readonly fromHz: number; readonly resampler: Resampler } | null = null;

  constructor(outRateHz: number) {
    this.#outRateHz = outRateHz;
  }

  /** Returns the block at the target rate: itself if it has that rate, otherwise a new array. */
  convert(samples: Int16Array, fromHz: number): Int16Array {
    if (fromHz === this.#outRateHz) return samples;
    if (this.#run?.fromHz !== fromHz)
      this.#run = { fromHz, resampler: new Resampler(fromHz, this.#outRateHz) };
    const { resampler } = this.#run;
    const output = new Int16Array(resampler.outputCapacity(samples.length));
    return output.subarray(0, resampler.push(samples, output));
  }
}

/** Converts a whole clip at once. */
export function resample(samples: Int16Array, inRateHz: number, outRateHz: number): Int16Array {
  return new RateConverter(outRateHz).convert(samples, inRateHz);
}
