/**
 * Decodes WAV files (RIFF): integer PCM of 8 to 32 bits and floating point, any number of channels. Wrong
 * sizes, as in streamed files, are cut to the actual length.
 */
import { audioTooLong, SpeechJobError } from './speech-jobs.ts';

/** The names of its parts, `fmt ` and `data`. */
const FORMAT_PART = 0x666d7420;
const DATA_PART = 0x64617461;
const INTEGER = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;
/** One second at 48 kHz. */
const BLOCK_FRAMES = 48_000;

/** Output of a decoder: one block, mixed to one channel, full scale 1. */
export interface DecodedBlock {
  readonly rateHz: number;
  readonly frames: number;
  /** Mean of the channels at a frame. */
  at(frame: number): number;
}

interface WavFormat {
  readonly kind: number;
  readonly channels: number;
  readonly rateHz: number;
  readonly bytesPerSample: number;
}

/** Whether a file begins as WAV files do. */
export function isWav(file: Uint8Array): boolean {
  return Buffer.from(file.subarray(0, 4)).toString('latin1') === 'RIFF';
}

/** Yields the blocks of a WAV file. Throws `SpeechJobError` if it is not one, is unsupported or too long. */
export function* decodeWav(file: Uint8Array, longestSeconds: number): Generator<DecodedBlock> {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  let format: WavFormat | null = null;
  for (let at = 12; at + 8 <= file.length; ) {
    // Read as a number: a file may be nothing but empty parts.
    const name = view.getUint32(at);
    const size = Math.min(view.getUint32(at + 4, true), file.length - at - 8);
    if (name === FORMAT_PART) format = readFormat(view, at + 8, size);
    if (name === DATA_PART) {
      if (!format) break;
      if (size / (format.channels * format.bytesPerSample * format.rateHz) > longestSeconds)
        throw audioTooLong(longestSeconds);
      yield* readData(new DataView(view.buffer, view.byteOffset + at + 8, size), format);
      return;
    }
    at += 8 + size + (size % 2);
  }
  throw new SpeechJobError('audio_unreadable', 'The WAV file is damaged: it has no format or no audio');
}

function readFormat(view: DataView, at: number, size: number): WavFormat {
  if (size < 16)
    throw new SpeechJobError('audio_unreadable', 'The WAV file is damaged: its format is cut short');
  const tag = view.getUint16(at, true);
  const kind = tag === EXTENSIBLE && size >= 26 ? view.getUint16(at + 24, true) : tag;
  const format = {
    kind,
    channels: view.getUint16(at + 2, true),
    rateHz: view.getUint32(at + 4, true),
    bytesPerSample: view.getUint16(at + 14, true) / 8,
  };
  const sizes = kind === INTEGER ? [1, 2, 3, 4] : kind === FLOAT ? [4, 8] : [];
  if (!sizes.includes(format.bytesPerSample))
    throw new SpeechJobError(
      'audio_unsupported',
      'This kind of WAV is not supported: send integer or float PCM',
    );
  const isSound =
    format.channels >= 1 && format.channels <= 32 && format.rateHz >= 4_000 && format.rateHz <= 384_000;
  if (!isSound)
    throw new SpeechJobError(
      'audio_unreadable',
      'The WAV file is damaged: its rate or its channels are out of range',
    );
  return format;
}

function* readData(view: DataView, format: WavFormat): Generator<DecodedBlock> {
  const { channels, rateHz, bytesPerSample } = format;
  const read = sampleReader(view, format);
  const total = Math.floor(view.byteLength / (channels * bytesPerSample));
  for (let first = 0; first < total; first += BLOCK_FRAMES) {
    const at = (frame: number) => {
      let sum = 0;
      for (let channel = 0; channel < channels; channel++)
        sum += read(((first + frame) * channels + channel) * bytesPerSample);
      return sum / channels;
    };
    yield { rateHz, frames: Math.min(BLOCK_FRAMES, total - first), at };
  }
}

function sampleReader(view: DataView, { kind, bytesPerSample }: WavFormat): (byte: number) => number {
  if (kind === FLOAT)
    return bytesPerSample === 4
      ? (byte) => view.getFloat32(byte, true)
      : (byte) => view.getFloat64(byte, true);
  if (bytesPerSample === 1) return (byte) => (view.getUint8(byte) - 128) / 128;
  if (bytesPerSample === 2) return (byte) => view.getInt16(byte, true) / 32_768;
  if (bytesPerSample === 3)
    return (byte) => (view.getInt8(byte + 2) * 65_536 + view.getUint16(byte, true)) / 8_388_608;
  return (byte) => view.getInt32(byte, true) / 2_147_483_648;
}
