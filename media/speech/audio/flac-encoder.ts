/**
 * Encodes 16-bit mono audio as frames of FLAC (RFC 9639) with its polynomial predictors: without loss, and
 * about twenty times cheaper than Opus. Silence takes next to nothing.
 */
import { BitWriter } from './bit-writer.ts';
import {
  BLOCK_AND_RATE,
  CHANNEL_AND_BITS,
  FRAME_SYNC,
  HIGHEST_ORDER,
  HIGHEST_PARAMETER,
  SAMPLE_BITS,
  SUBFRAME,
} from './flac-format.ts';

/** Blocks per second, about two: longer ones save headers in silence, shorter ones follow speech better. */
const BLOCK_SECONDS = 0.48;
/** At most so many parts of a block have a Rice parameter of their own: 2 to this power. */
const HIGHEST_PARTITION_ORDER = 6;
const PARAMETER_BITS = 4;

/** `firstSample` is the position of these samples in the file. */
export function encodeFlac(samples: Int16Array, rateHz: number, firstSample = 0): Uint8Array<ArrayBuffer> {
  const blockSamples = Math.round(rateHz * BLOCK_SECONDS);
  const writer = new BitWriter(samples.length / 2 + 64);
  const scratch = new Int32Array(blockSamples);
  for (let start = 0; start < samples.length; start += blockSamples)
    writeFrame(writer, samples.subarray(start, start + blockSamples), firstSample + start, scratch);
  return writer.take();
}

function writeFrame(writer: BitWriter, block: Int16Array, firstSample: number, scratch: Int32Array): void {
  const start = writer.bytes;
  writer.write(FRAME_SYNC, 16);
  writer.write(BLOCK_AND_RATE, 8);
  writer.write(CHANNEL_AND_BITS, 8);
  writeNumber(writer, firstSample);
  writer.write(block.length - 1, 16);
  writer.write(writer.crc8(start), 8);
  writeSubframe(writer, block, scratch);
  writer.align();
  writer.write(writer.crc16(start), 16);
}

/** As UTF-8 writes a character (RFC 9639 §9.1.5), with up to 36 bits. */
function writeNumber(writer: BitWriter, value: number): void {
  if (value < 0x80) {
    writer.write(value, 8);
    return;
  }
  let following = 1;
  while (value >= 2 ** (5 * following + 6)) following++;
  const top = Math.floor(value / 2 ** (6 * following));
  writer.write(((0xff00 >> (following + 1)) & 0xff) | top, 8);
  for (let left = following - 1; left >= 0; left--)
    writer.write(0x80 | (Math.floor(value / 2 ** (6 * left)) & 0x3f), 8);
}

function writeSubframe(writer: BitWriter, block: Int16Array, scratch: Int32Array): void {
  const first = block[0] ?? 0;
  if (isConstant(block)) {
    writer.write(SUBFRAME.constant << 1, 8);
    writer.write(first & 0xffff, SAMPLE_BITS);
    return;
  }
  const wasted = wastedBits(block);
  const samples = wasted === 0 ? block : shifted(block, wasted);
  const bits = SAMPLE_BITS - wasted;
  const order = samples.length > HIGHEST_ORDER ? bestOrder(samples) : 0;
  const residual = scratch.subarray(0, samples.length);
  predict(samples, order, residual);
  const coding = bestCoding(residual, order);
  const isPlain = coding.bits >= samples.length * bits;
  writer.write(((isPlain ? SUBFRAME.verbatim : SUBFRAME.fixed + order) << 1) | Number(wasted > 0), 8);
  if (wasted > 0) writer.write(1, wasted);
  const plain = isPlain ? samples : samples.subarray(0, order);
  for (const sample of plain) writer.write(sample & (2 ** bits - 1), bits);
  if (!isPlain) writeResidual(writer, residual, order, coding);
}

/** Loops instead of callbacks, here and below: nearly all of the thread's time is spent in them. */
function isConstant(block: Int16Array): boolean {
  const first = block[0];
  for (let index = 1; index < block.length; index++) if (block[index] !== first) return false;
  return true;
}

function shifted(block: Int16Array, bits: number): Int16Array {
  const samples = new Int16Array(block.length);
  for (let index = 0; index < block.length; index++) samples[index] = (block[index] as number) >> bits;
  return samples;
}

/** Lowest bits that are zero in all samples: those of G.711 have two or three. */
function wastedBits(block: Int16Array): number {
  let used = 0;
  for (let index = 0; index < block.length; index++) used |= block[index] as number;
  return 31 - Math.clz32(used & -used);
}

/** The order whose differences are smallest in sum. */
function bestOrder(block: Int16Array): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let sum0 = 0;
  let sum1 = 0;
  let sum2 = 0;
  let sum3 = 0;
  let sum4 = 0;
  for (let index = 0; index < block.length; index++) {
    const value = block[index] as number;
    const one = value - a;
    const two = one - b;
    const three = two - c;
    const four = three - d;
    a = value;
    b = one;
    c = two;
    d = three;
    if (index < HIGHEST_ORDER) continue;
    sum0 += Math.abs(value);
    sum1 += Math.abs(one);
    sum2 += Math.abs(two);
    sum3 += Math.abs(three);
    sum4 += Math.abs(four);
  }
  const sums = [sum0, sum1, sum2, sum3, sum4];
  return sums.indexOf(Math.min(...sums));
}

/** Writes the differences of this order as whole numbers from zero: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4. */
function predict(block: Int16Array, order: number, residual: Int32Array): void {
  const at = (index: number) => block[index] ?? 0;
  for (let index = order; index < block.length; index++) {
    let value = at(index);
    if (order === 1) value -= at(index - 1);
    else if (order === 2) value += at(index - 2) - 2 * at(index - 1);
    else if (order === 3) value += 3 * (at(index - 2) - at(index - 1)) - at(index - 3);
    else if (order === 4) value += 6 * at(index - 2) - 4 * (at(index - 1) + at(index - 3)) + at(index - 4);
    residual[index] = (value << 1) ^ (value >> 31);
  }
}

/** How a block's differences are written, and in how many bits. */
interface Coding {
  readonly partitionOrder: number;
  readonly parameters: readonly number[];
  readonly bits: number;
}

function bestCoding(residual: Int32Array, order: number): Coding {
  let partitionOrder = 0;
  while (
    partitionOrder < HIGHEST_PARTITION_ORDER &&
    residual.length % 2 ** (partitionOrder + 1) === 0 &&
    residual.length / 2 ** (partitionOrder + 1) > order
  )
    partitionOrder++;
  let sums = sumsOf(residual, order, 2 ** partitionOrder);
  let best: Coding | null = null;
  for (; ; partitionOrder--) {
    const coding = codingOf(sums, residual.length, order);
    if (!best || coding.bits < best.bits) best = coding;
    if (partitionOrder === 0) return best;
    sums = sums.flatMap((sum, index) => (index % 2 === 0 ? [sum + (sums[index + 1] ?? 0)] : []));
  }
}

/** Sums of the differences in equal parts of a block. */
function sumsOf(residual: Int32Array, order: number, parts: number): number[] {
  const length = residual.length / parts;
  return Array.from({ length: parts }, (_, part) => {
    let sum = 0;
    for (let index = part === 0 ? order : part * length; index < (part + 1) * length; index++)
      sum += residual[index] ?? 0;
    return sum;
  });
}

function codingOf(sums: readonly number[], length: number, order: number): Coding {
  let bits = 0;
  const parameters = sums.map((sum, part) => {
    const count = length / sums.length - (part === 0 ? order : 0);
    let parameter = 0;
    // The best parameter is near the logarithm of the mean.
    while (parameter < HIGHEST_PARAMETER && count * 2 ** (parameter + 1) <= sum) parameter++;
    bits += PARAMETER_BITS + count * (parameter + 1) + sum / 2 ** parameter;
    return parameter;
  });
  return { partitionOrder: Math.log2(sums.length), parameters, bits };
}

function writeResidual(
  writer: BitWriter,
  residual: Int32Array,
  order: number,
  { partitionOrder, parameters }: Coding,
): void {
  writer.write(0, 2);
  writer.write(partitionOrder, 4);
  const length = residual.length / parameters.length;
  for (let part = 0; part < parameters.length; part++) {
    const parameter = parameters[part] ?? 0;
    writer.write(parameter, PARAMETER_BITS);
    for (let index = part === 0 ? order : part * length; index < (part + 1) * length; index++)
      writer.writeRice(residual[index] ?? 0, parameter);
  }
}
