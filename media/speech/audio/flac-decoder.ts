/** Decodes the FLAC (RFC 9639) of `flac-encoder.ts`, frame by frame. */
import { BitReader } from './bit-reader.ts';
import {
  BLOCK_AND_RATE,
  CHANNEL_AND_BITS,
  FRAME_SYNC,
  flacFrames,
  HIGHEST_ORDER,
  HIGHEST_PARAMETER,
  SAMPLE_BITS,
  SUBFRAME,
} from './flac-format.ts';

/** Thrown for bytes that this encoder has not written. */
class FlacError extends Error {
  constructor(what: string) {
    super(`FLAC: ${what}`);
    this.name = 'FlacError';
  }
}

/** Yields the samples of each frame, about half a second. Throws `FlacError`. */
export function* decodeFlac(file: Buffer): Generator<Int16Array> {
  const frames = flacFrames(file);
  if (!frames) throw new FlacError('no file of it');
  const reader = new BitReader(frames);
  while (!reader.isAtEnd) yield readFrame(reader);
}

function readFrame(reader: BitReader): Int16Array {
  const isOurs =
    reader.read(16) === FRAME_SYNC &&
    reader.read(8) === BLOCK_AND_RATE &&
    reader.read(8) === CHANNEL_AND_BITS;
  if (!isOurs) throw new FlacError('unknown frame');
  skipNumber(reader);
  const samples = new Int16Array(reader.read(16) + 1);
  reader.read(8);
  readSubframe(reader, samples);
  // The bytes are sealed: the checksum would find nothing that the seal does not.
  reader.align();
  reader.read(16);
  if (reader.isBeyondEnd) throw new FlacError('cut short');
  return samples;
}

/** The position, as UTF-8 writes a character. */
function skipNumber(reader: BitReader): void {
  for (let lead = reader.read(8); (lead & 0xc0) === 0xc0; lead = ((lead << 1) & 0x7f) | 0x80) reader.read(8);
}

function readSubframe(reader: BitReader, samples: Int16Array): void {
  const type = reader.read(7);
  const wasted = reader.read(1) === 0 ? 0 : reader.readRice(0) + 1;
  const order = type - SUBFRAME.fixed;
  const bits = SAMPLE_BITS - wasted;
  if (bits < 1) throw new FlacError('no bits');
  if (type === SUBFRAME.constant) samples.fill(reader.read(bits));
  else if (type === SUBFRAME.verbatim) readPlain(reader, samples, bits);
  else if (order >= 0 && order <= HIGHEST_ORDER && order <= samples.length) {
    readPlain(reader, samples.subarray(0, order), bits);
    restore(samples, order, readResidual(reader, samples.length, order));
  } else throw new FlacError('unknown subframe');
  if (wasted > 0)
    for (let index = 0; index < samples.length; index++) samples[index] = at(samples, index) << wasted;
}

function at(samples: Int16Array, index: number): number {
  return samples[index] ?? 0;
}

function readPlain(reader: BitReader, samples: Int16Array, bits: number): void {
  const unused = 32 - bits;
  for (let index = 0; index < samples.length; index++)
    samples[index] = (reader.read(bits) << unused) >> unused;
}

function readResidual(reader: BitReader, length: number, order: number): Int32Array {
  const residual = new Int32Array(length);
  if (reader.read(2) !== 0) throw new FlacError('unknown coding');
  const parts = 2 ** reader.read(4);
  const partLength = length / parts;
  if (!Number.isInteger(partLength) || partLength < order) throw new FlacError('uneven parts');
  for (let part = 0; part < parts; part++) {
    const parameter = reader.read(4);
    if (parameter > HIGHEST_PARAMETER) throw new FlacError('unknown coding');
    for (let index = part === 0 ? order : part * partLength; index < (part + 1) * partLength; index++) {
      const value = reader.readRice(parameter);
      residual[index] = (value >>> 1) ^ -(value & 1);
    }
  }
  return residual;
}

/** Factors of the samples before one that predict it, the nearest first. */
const PREDICTORS = [
  [0, 0, 0, 0],
  [1, 0, 0, 0],
  [2, -1, 0, 0],
  [3, -3, 1, 0],
  [4, -6, 4, -1],
] as const;

/** Adds to each difference what the samples before it predict. */
function restore(samples: Int16Array, order: number, residual: Int32Array): void {
  const [first, second, third, fourth] = PREDICTORS[order] ?? PREDICTORS[0];
  let a = at(samples, order - 1);
  let b = at(samples, order - 2);
  let c = at(samples, order - 3);
  let d = at(samples, order - 4);
  for (let index = order; index < samples.length; index++) {
    samples[index] = (residual[index] ?? 0) + first * a + second * b + third * c + fourth * d;
    d = c;
    c = b;
    b = a;
    a = at(samples, index);
  }
}
