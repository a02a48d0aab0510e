/**
 * Arithmetic on linear PCM: a streaming sample-rate converter and the level of a block.
 * Everything works on mono 16-bit blocks and writes into arrays the caller owns.
 */

/** Level reported for digital silence, dBFS. */
export const SILENCE_DB = -96;

/** RMS level of a block, or of its samples from `from` up to `to`, in dBFS (a full-scale square wave is 0). */
export function levelDb(samples: Int16Array, from = 0, to = samples.length): number {
  // Two sums, exact as they are of whole numbers: neither addition waits for the other.
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

/** Filter length per phase when the rate rises; longer in proportion when it falls, so that the transition band stays the same width. */
const TAPS_PER_PHASE = 24;
/** Kaiser window shape: about 70 dB in the stop band. */
const KAISER_BETA = 7;
/** Share of the narrower Nyquist band that passes. */
const PASSBAND = 0.92;

/** Streaming polyphase FIR converter between two integer rates; keeps the history of one stream, so one instance serves one stream only. */
export class Resampler {
  readonly #up: number;
  readonly #down: number;
  readonly #taps: number;
  /** Phase p's taps, reversed, at `p * taps`. */
  readonly #kernel: Float64Array;
  #line: Float64Array;
  /** Position of the next output in units of 1/up input samples, relative to the block's first sample. */
  #position = 0;

  constructor(inRateHz: number, outRateHz: number) {
    const divisor = greatestCommonDivisor(inRateHz, outRateHz);
    this.#up = outRateHz / divisor;
    this.#down = inRateHz / divisor;
    this.#taps = Math.ceil(TAPS_PER_PHASE * Math.max(1, inRateHz / outRateHz));
    this.#kernel = kernelFor(inRateHz, outRateHz, this.#up, this.#taps);
    this.#line = new Float64Array(this.#taps - 1 + 1024);
  }

  /** Largest number of samples `push` can write for `inputLength` samples of input. */
  outputCapacity(inputLength: number): number {
    return Math.ceil((inputLength * this.#up) / this.#down) + 1;
  }

  /** Converts one block; returns how many samples were written to `output`, which must hold `outputCapacity(input.length)`. */
  push(input: Int16Array, output: Int16Array): number {
    const taps = this.#taps;
    const kept = taps - 1;
    if (this.#line.length < kept + input.length) {
      const longer = new Float64Array(kept + input.length);
      longer.set(this.#line.subarray(0, kept));
      this.#line = longer;
    }
    const [kernel, line] = [this.#kernel, this.#line];
    line.set(input, kept);
    const end = input.length * this.#up;
    let written = this.#up === 1 ? this.#decimate(end, output) : 0;
    let position = this.#position + written * this.#down;
    for (; position < end; position += this.#down) {
      const start = Math.floor(position / this.#up);
      const phase = (position % this.#up) * taps;
      let sum = 0;
      for (let tap = 0; tap < taps; tap++) sum += (kernel[phase + tap] as number) * (line[start + tap] as number);
      output[written++] = clamp16(sum);
    }
    this.#position = position - end;
    line.copyWithin(0, input.length, input.length + kept);
    return written;
  }

  /** As many outputs as can be made four at a time: they share each look at the kernel, and none waits for another's addition. Half the time of one after another. */
  #decimate(end: number, output: Int16Array): number {
    const [kernel, line, down, taps] = [this.#kernel, this.#line, this.#down, this.#taps];
    let written = 0;
    for (let start = this.#position; start + 3 * down < end; start += 4 * down) {
      let a = 0;
      let b = 0;
      let c = 0;
      let d = 0;
      for (let tap = 0, at = start; tap < taps; tap++, at++) {
        const factor = kernel[tap] as number;
        a += factor * (line[at] as number);
        b += factor * (line[at + down] as number);
        c += factor * (line[at + 2 * down] as number);
        d += factor * (line[at + 3 * down] as number);
      }
      output[written] = clamp16(a);
      output[written + 1] = clamp16(b);
      output[written + 2] = clamp16(c);
      output[written + 3] = clamp16(d);
      written += 4;
    }
    return written;
  }
}

/** Brings the blocks of one stream to a rate, whatever rate they come in: each goes on where the one before it ended. */
export class RateConverter {
  readonly #outRateHz: number;
  #run: { readonly fromHz: number; readonly resampler: Resampler } | null = null;

  constructor(outRateHz: number) {
    this.#outRateHz = outRateHz;
  }

  /** The block at the wanted rate: itself where it has it, a new array otherwise. */
  convert(samples: Int16Array, fromHz: number): Int16Array {
    if (fromHz === this.#outRateHz) return samples;
    if (this.#run?.fromHz !== fromHz) this.#run = { fromHz, resampler: new Resampler(fromHz, this.#outRateHz) };
    const { resampler } = this.#run;
    const output = new Int16Array(resampler.outputCapacity(samples.length));
    return output.subarray(0, resampler.push(samples, output));
  }
}

/** Converts a whole clip at once. */
export function resample(samples: Int16Array, inRateHz: number, outRateHz: number): Int16Array {
  return new RateConverter(outRateHz).convert(samples, inRateHz);
}

function clamp16(value: number): number {
  return value > 32767 ? 32767 : value < -32768 ? -32768 : Math.round(value);
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

const kernels = new Map<string, Float64Array>();

/** The kernel between two rates, made once: a converter is opened for every piece a voice says. */
function kernelFor(inRateHz: number, outRateHz: number, up: number, taps: number): Float64Array {
  const rates = `${inRateHz} ${outRateHz}`;
  const kernel = kernels.get(rates) ?? polyphaseKernel(up, taps, Math.min(1, outRateHz / inRateHz));
  kernels.set(rates, kernel);
  return kernel;
}

/** Kaiser-windowed sinc, split into `up` phases of `taps` each; `band` is the kept share of the input's Nyquist band. */
function polyphaseKernel(up: number, taps: number, band: number): Float64Array {
  const length = up * taps;
  const cutoff = (0.5 * band * PASSBAND) / up;
  const kernel = new Float64Array(length);
  for (let n = 0; n < length; n++) {
    const x = n - (length - 1) / 2;
    const sinc = x === 0 ? 2 * cutoff : Math.sin(2 * Math.PI * cutoff * x) / (Math.PI * x);
    const window = bessel0(KAISER_BETA * Math.sqrt(1 - ((2 * n) / (length - 1) - 1) ** 2)) / bessel0(KAISER_BETA);
    const phase = n % up;
    const tap = Math.floor(n / up);
    kernel[phase * taps + (taps - 1 - tap)] = up * sinc * window;
  }
  return kernel;
}

/** Modified Bessel function of the first kind, order 0, by its power series. */
function bessel0(x: number): number {
  let sum = 1;
  let term = 1;
  for (let k = 1; k < 30; k++) {
    term *= (x / 2 / k) ** 2;
    sum += term;
  }
  return sum;
}
