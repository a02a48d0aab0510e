/**
 * The polyphase FIR filter between two sample rates: its kernel, and the WebAssembly loop (polyphase.wat)
 * that applies it.
 */
import { readFileSync } from 'node:fs';

/**
 * Filter length per phase when the rate rises; proportionally longer when it falls, so that the transition
 * band keeps its width.
 */
const TAPS_PER_PHASE = 24;
/** Each phase's row of the kernel is padded to a multiple of what the loop processes per iteration. */
const TAPS_PER_ROUND = 8;
/** Shape of the Kaiser window: about 70 dB in the stop band. */
const KAISER_BETA = 7;
/** Pass band as a share of the narrower Nyquist band. */
const PASSBAND = 0.92;
/**
 * A kernel with more phases takes megabytes. Rates without a large common divisor, found only in damaged or
 * synthetic recordings, are converted by the nearest ratio within this limit, at most a thousandth off.
 * (11,025 Hz to 48,000 takes 640.)
 */
const MAX_PHASES = 640;

/**
 * Most samples filtered at once: the loop's memory can only grow, and must not depend on the length of a
 * clip.
 */
export const MAX_PIECE_SAMPLES = 2048;

/** Page size of WebAssembly's memory, bytes. */
const PAGE_BYTES = 65_536;

/** Up outputs per down inputs. */
interface Ratio {
  readonly up: number;
  readonly down: number;
}

interface Loop {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  /** See polyphase.wat. */
  convert(
    phaseBytes: number,
    up: number,
    down: number,
    line: number,
    position: number,
    output: number,
    count: number,
  ): void;
}

const loop = new WebAssembly.Instance(
  new WebAssembly.Module(readFileSync(new URL('polyphase.wasm', import.meta.url))),
  {},
).exports as unknown as Loop;
let floats = new Float32Array(loop.memory.buffer);
let integers = new Int16Array(loop.memory.buffer);
/**
 * The filter whose kernel is at the start of the memory. The line and output after it belong to the current
 * call.
 */
let loaded: PolyphaseFilter | null = null;

const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT;

/** State of one stream. */
export interface StreamState {
  /** The `reach` samples before the next piece. */
  readonly history: Float32Array;
  /**
   * Position of the next output in units of 1/up input samples, relative to the next piece's first sample.
   */
  position: number;
}

/** The filter between two rates. It has no state of a stream, so streams can share it. */
export class PolyphaseFilter {
  /** Outputs lie on a grid with this many positions per input sample, `#down` positions apart. */
  readonly phases: number;
  readonly #down: number;
  /** False if the exact ratio would need too many phases and a nearby one is used. */
  readonly isExact: boolean;
  /** Samples before a piece that its outputs depend on. */
  readonly reach: number;
  /** Taps of phase p, reversed, at `p * (reach + 1)`. */
  readonly #kernel: Float32Array;

  constructor(inRateHz: number, outRateHz: number) {
    const { up, down } = ratioOf(inRateHz, outRateHz);
    this.phases = up;
    this.#down = down;
    this.isExact = up * inRateHz === down * outRateHz;
    const taps = Math.ceil(TAPS_PER_PHASE * Math.max(1, inRateHz / outRateHz));
    const row = Math.ceil(taps / TAPS_PER_ROUND) * TAPS_PER_ROUND;
    this.reach = row - 1;
    this.#kernel = polyphaseKernel(this.phases, taps, row, Math.min(1, outRateHz / inRateHz));
  }

  /** Number of outputs for a piece of `length` samples if the first is at `position`. */
  outputs(length: number, position = 0): number {
    return Math.max(0, Math.ceil((length * this.phases - position) / this.#down));
  }

  /**
   * Writes the outputs of a stream's next piece (at most `MAX_PIECE_SAMPLES`) to `output` from `at`, and
   * returns their number.
   */
  apply(piece: Int16Array, stream: StreamState, output: Int16Array, at: number): number {
    const { history, position } = stream;
    const count = this.outputs(piece.length, position);
    // The memory as floats: the kernel, the line (history and piece), and the outputs, two to a float.
    const line = this.#kernel.length;
    const next = line + piece.length;
    const end = next + this.reach;
    this.#load(end + Math.ceil(count / 2));
    floats.set(history, line);
    floats.set(piece, line + this.reach);
    if (count > 0) {
      const phaseBytes = (this.reach + 1) * FLOAT_BYTES;
      loop.convert(
        phaseBytes,
        this.phases,
        this.#down,
        line * FLOAT_BYTES,
        position,
        end * FLOAT_BYTES,
        count,
      );
      output.set(integers.subarray(2 * end, 2 * end + count), at);
    }
    history.set(floats.subarray(next, end));
    stream.position = position + count * this.#down - piece.length * this.phases;
    return count;
  }

  /** Loads this kernel into the memory and ensures room for this many floats in total. */
  #load(length: number): void {
    if (length > floats.length) {
      loop.memory.grow(Math.ceil(((length - floats.length) * FLOAT_BYTES) / PAGE_BYTES));
      floats = new Float32Array(loop.memory.buffer);
      integers = new Int16Array(loop.memory.buffer);
    }
    if (loaded === this) return;
    floats.set(this.#kernel);
    loaded = this;
  }
}

const filters = new Map<string, PolyphaseFilter>();

/** The filter between two rates, created once: each piece of speech opens a converter. */
export function filterBetween(inRateHz: number, outRateHz: number): PolyphaseFilter {
  const rates = `${inRateHz} ${outRateHz}`;
  const cached = filters.get(rates);
  if (cached) return cached;
  const filter = new PolyphaseFilter(inRateHz, outRateHz);
  // A recording may have any rate: filters of unusual ones are not cached.
  if (filter.isExact) filters.set(rates, filter);
  return filter;
}

/**
 * The exact ratio, or the nearest one with few enough phases: the last convergent of its continued fraction,
 * or the last semiconvergent after it.
 */
function ratioOf(inRateHz: number, outRateHz: number): Ratio {
  const errorOf = ({ up, down }: Ratio) => Math.abs(up / down - outRateHz / inRateHz);
  let before: Ratio = { up: 0, down: 1 };
  let last: Ratio = { up: 1, down: 0 };
  for (
    let [dividend, divisor] = [outRateHz, inRateHz];
    divisor > 0;
    [dividend, divisor] = [divisor, dividend % divisor]
  ) {
    const most = last.up > 0 ? Math.floor((MAX_PHASES - before.up) / last.up) : Number.POSITIVE_INFINITY;
    const whole = Math.floor(dividend / divisor);
    const times = Math.min(whole, most);
    const next = { up: times * last.up + before.up, down: times * last.down + before.down };
    if (times < whole) return errorOf(next) < errorOf(last) ? next : last;
    [before, last] = [last, next];
  }
  return last;
}

/**
 * Kaiser-windowed sinc, split into `up` phases of `taps` each, in rows that begin with zeros; `band` is the
 * pass share of the input's Nyquist band.
 */
function polyphaseKernel(up: number, taps: number, row: number, band: number): Float32Array {
  const length = up * taps;
  const cutoff = (0.5 * band * PASSBAND) / up;
  const kernel = new Float32Array(up * row);
  for (let n = 0; n < length; n++) {
    const x = n - (length - 1) / 2;
    const sinc = x === 0 ? 2 * cutoff : Math.sin(2 * Math.PI * cutoff * x) / (Math.PI * x);
    const window =
      bessel0(KAISER_BETA * Math.sqrt(1 - ((2 * n) / (length - 1) - 1) ** 2)) / bessel0(KAISER_BETA);
    const phase = n % up;
    const tap = Math.floor(n / up);
    kernel[phase * row + (row - 1 - tap)] = up * sinc * window;
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
