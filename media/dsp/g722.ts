/**
 * G.722 (ITU-T G.722, mode 1, 64 kbit/s): 16 kHz audio in two bands, each adaptively quantised against its
 * own prediction. One byte holds two samples. Comments name the blocks of the recommendation; arithmetic is
 * in 16-bit steps as specified there.
 */

const QMF = [3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11] as const;
const QMF_TAPS = 24;

/** Decision levels of the low band's quantiser (Q6). */
const Q6 = [
  0, 35, 72, 110, 150, 190, 233, 276, 323, 370, 422, 473, 530, 587, 650, 714, 786, 858, 940, 1023, 1121, 1219,
  1339, 1458, 1612, 1765, 1980, 2195, 2557, 2919,
] as const;
/** Low-band codes by level, for negative and for positive differences (ILN, ILP). */
const ILN = [
  0, 63, 62, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7,
  6, 5, 4,
] as const;
const ILP = [
  0, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36,
  35, 34, 33, 32,
] as const;
const HIGH_DECISION = 564;

/** Inverse quantisers: 6 bits for the output, 4 bits for the prediction, 2 bits for the high band. */
const QM6 = [
  -136, -136, -136, -136, -24808, -21904, -19008, -16704, -14984, -13512, -12280, -11192, -10232, -9360,
  -8576, -7856, -7192, -6576, -6000, -5456, -4944, -4464, -4008, -3576, -3168, -2776, -2400, -2032, -1688,
  -1360, -1040, -728, 24808, 21904, 19008, 16704, 14984, 13512, 12280, 11192, 10232, 9360, 8576, 7856, 7192,
  6576, 6000, 5456, 4944, 4464, 4008, 3576, 3168, 2776, 2400, 2032, 1688, 1360, 1040, 728, 432, 136, -432,
  -136,
] as const;
const QM4 = [
  0, -20456, -12896, -8968, -6288, -4240, -2584, -1200, 20456, 12896, 8968, 6288, 4240, 2584, 1200, 0,
] as const;
const QM2 = [-7408, -1616, 7408, 1616] as const;

/** Change of the logarithmic scale factor by each code, and the scale factors (ILB). */
const LOW_STEPS = [0, 3042, 1198, 538, 334, 172, 58, -30, 3042, 1198, 538, 334, 172, 58, -30, -60] as const;
const HIGH_STEPS = [798, -214, 798, -214] as const;
const ILB = [
  2048, 2093, 2139, 2186, 2233, 2282, 2332, 2383, 2435, 2489, 2543, 2599, 2656, 2714, 2774, 2834, 2896, 2960,
  3025, 3091, 3158, 3228, 3298, 3371, 3444, 3520, 3597, 3676, 3756, 3838, 3922, 4008,
] as const;

/** Predictor and scale factor of one band; encoder and decoder run it in step. */
class Band {
  /** Prediction of the next sample. */
  prediction = 0;
  /** Scale factor of the quantiser. */
  scale: number;
  readonly #scaleShift: number;
  readonly #maxLogScale: number;
  #logScale = 0;
  #zeroPart = 0;
  readonly #a = new Int32Array(2);
  readonly #b = new Int32Array(6);
  /** The last reconstructed values, their partial sums and the last differences, newest first. */
  readonly #r = new Int32Array(2);
  readonly #p = new Int32Array(2);
  readonly #d = new Int32Array(6);

  constructor(options: { scale: number; scaleShift: number; maxLogScale: number }) {
    this.scale = options.scale;
    this.#scaleShift = options.scaleShift;
    this.#maxLogScale = options.maxLogScale;
  }

  /** Updates the predictor with the quantised difference and the scale step of its code. */
  adapt(difference: number, logStep: number): void {
    // LOGSCL, SCALEL (LOGSCH, SCALEH).
    this.#logScale = clamp(((this.#logScale * 127) >> 7) + logStep, 0, this.#maxLogScale);
    const mantissa = ILB[(this.#logScale >> 6) & 31] ?? 0;
    const shift = this.#scaleShift - (this.#logScale >> 11);
    this.scale = (shift < 0 ? mantissa << -shift : mantissa >> shift) << 2;
    this.#predict(difference);
  }

  #predict(difference: number): void {
    const reconstructed = saturate(this.prediction + difference);
    const partial = saturate(this.#zeroPart + difference);
    this.#adaptPoles(partial);
    this.#adaptZeros(difference);
    // DELAYA.
    const [r, p, d] = [this.#r, this.#p, this.#d];
    d.copyWithin(1, 0);
    d[0] = difference;
    r.copyWithin(1, 0);
    r[0] = reconstructed;
    p.copyWithin(1, 0);
    p[0] = partial;
    // FILTEP, FILTEZ, PREDIC.
    const poles = saturate(
      scaled(at(this.#a, 0), saturate(2 * at(r, 0))) + scaled(at(this.#a, 1), saturate(2 * at(r, 1))),
    );
    let zeros = 0;
    for (let n = 0; n < d.length; n++) zeros += scaled(at(this.#b, n), saturate(2 * at(d, n)));
    this.#zeroPart = saturate(zeros);
    this.prediction = saturate(poles + this.#zeroPart);
  }

  /** UPPOL2, UPPOL1. */
  #adaptPoles(partial: number): void {
    const [a, p] = [this.#a, this.#p];
    const isSame = partial >> 15 === at(p, 0) >> 15;
    const isSameBefore = partial >> 15 === at(p, 1) >> 15;
    const turned = saturate(at(a, 0) << 2);
    const drift = Math.min(32_767, isSame ? -turned : turned) >> 7;
    const second = clamp(drift + (isSameBefore ? 128 : -128) + scaled(at(a, 1), 32_512), -12_288, 12_288);
    const limit = saturate(15_360 - second);
    a[0] = clamp(saturate((isSame ? 192 : -192) + scaled(at(a, 0), 32_640)), -limit, limit);
    a[1] = second;
  }

  /** UPZERO. */
  #adaptZeros(difference: number): void {
    const [b, d] = [this.#b, this.#d];
    const step = difference === 0 ? 0 : 128;
    for (let n = 0; n < b.length; n++) {
      const isSame = at(d, n) >> 15 === difference >> 15;
      b[n] = saturate((isSame ? step : -step) + scaled(at(b, n), 32_640));
    }
  }
}

const lowBand = () => new Band({ scale: 32, scaleShift: 8, maxLogScale: 18_432 });
const highBand = () => new Band({ scale: 8, scaleShift: 10, maxLogScale: 22_528 });

/** Encodes one stream. */
export class G722Encoder {
  readonly #low = lowBand();
  readonly #high = highBand();
  readonly #line = new Int32Array(QMF_TAPS);

  /** Encodes an even number of samples into `bytes` from `offset`; returns the offset after the last byte. */
  encode(samples: Int16Array, bytes: Uint8Array, offset: number): number {
    const line = this.#line;
    let end = offset;
    for (let n = 0; n + 1 < samples.length; n += 2) {
      line.copyWithin(0, 2);
      line[QMF_TAPS - 2] = samples[n] as number;
      line[QMF_TAPS - 1] = samples[n + 1] as number;
      const [odd, even] = [filtered(line, 0), filtered(line, 1)];
      bytes[end++] = (this.#encodeHigh((even - odd) >> 14) << 6) | this.#encodeLow((even + odd) >> 14);
    }
    return end;
  }

  #encodeLow(sample: number): number {
    const band = this.#low;
    const difference = saturate(sample - band.prediction);
    const magnitude = difference >= 0 ? difference : -(difference + 1);
    let level = 1;
    while (level < Q6.length && magnitude >= ((Q6[level] ?? 0) * band.scale) >> 12) level++;
    const code = (difference < 0 ? ILN[level] : ILP[level]) ?? 0;
    band.adapt((band.scale * (QM4[code >> 2] ?? 0)) >> 15, LOW_STEPS[code >> 2] ?? 0);
    return code;
  }

  #encodeHigh(sample: number): number {
    const band = this.#high;
    const difference = saturate(sample - band.prediction);
    const magnitude = difference >= 0 ? difference : -(difference + 1);
    const isLarge = magnitude >= (HIGH_DECISION * band.scale) >> 12;
    const code = (difference < 0 ? 1 : 3) - (isLarge ? 1 : 0);
    band.adapt((band.scale * (QM2[code] ?? 0)) >> 15, HIGH_STEPS[code] ?? 0);
    return code;
  }
}

/** Decodes one stream. */
export class G722Decoder {
  readonly #low = lowBand();
  readonly #high = highBand();
  readonly #line = new Int32Array(QMF_TAPS);

  /** Decodes `bytes` into `samples` (at least twice as long); returns the number of samples. */
  decode(bytes: Uint8Array, samples: Int16Array): number {
    const line = this.#line;
    for (let n = 0; n < bytes.length; n++) {
      const byte = bytes[n] as number;
      const low = this.#decodeLow(byte & 0x3f);
      const high = this.#decodeHigh(byte >> 6);
      line.copyWithin(0, 2);
      line[QMF_TAPS - 2] = low + high;
      line[QMF_TAPS - 1] = low - high;
      samples[2 * n] = saturate(filtered(line, 1) >> 11);
      samples[2 * n + 1] = saturate(filtered(line, 0) >> 11);
    }
    return 2 * bytes.length;
  }

  #decodeLow(code: number): number {
    const band = this.#low;
    const sample = clamp(band.prediction + ((band.scale * (QM6[code] ?? 0)) >> 15), -16_384, 16_383);
    band.adapt((band.scale * (QM4[code >> 2] ?? 0)) >> 15, LOW_STEPS[code >> 2] ?? 0);
    return sample;
  }

  #decodeHigh(code: number): number {
    const band = this.#high;
    const difference = (band.scale * (QM2[code] ?? 0)) >> 15;
    const sample = clamp(band.prediction + difference, -16_384, 16_383);
    band.adapt(difference, HIGH_STEPS[code] ?? 0);
    return sample;
  }
}

/** One phase of the quadrature mirror filter: the even taps (0) or the odd ones in reverse (1). */
function filtered(line: Int32Array, phase: 0 | 1): number {
  let sum = 0;
  for (let n = 0; n < QMF.length; n++)
    sum += (line[2 * n + phase] as number) * (QMF[phase === 0 ? n : QMF.length - 1 - n] as number);
  return sum;
}

function at(values: Int32Array, index: number): number {
  return values[index] as number;
}

/** Product of two numbers with 15 fractional bits. */
function scaled(value: number, factor: number): number {
  return (value * factor) >> 15;
}

function clamp(value: number, lowest: number, highest: number): number {
  return value < lowest ? lowest : value > highest ? highest : value;
}

function saturate(value: number): number {
  return clamp(value, -32_768, 32_767);
}
