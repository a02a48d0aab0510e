/**
 * Audio of an answer as it arrives: raw 16-bit samples, or a WAV file of them, mono or stereo. A WAV that is
 * written while it is made has a wrong length in its header; its audio then lasts until the end.
 */
import { SpeechError } from '../speech.ts';
import { OWN_SERVER } from './own-server.ts';

/** Rates of speech. Others would each need a resampling filter of their own, which takes memory. */
const SPEECH_RATES_HZ = [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000];
/** Most bytes before the audio of a WAV file. */
const MAX_HEAD_BYTES = 4_096;
/** Most bytes read after the audio of a WAV file. Leaving earlier would cost the connection. */
const MAX_TAIL_BYTES = 64 * 1_024;
const PCM = 1;
const EXTENSIBLE = 0xfffe;
const FORMAT_BYTES = 16;
const CHUNK_HEAD_BYTES = 8;
/** Lengths that a writer puts into the header before it knows the length. */
const UNKNOWN_LENGTHS = [0, 0x7fff_ffff, 0xffff_ffff];

/** Samples read from some bytes; empty if they complete none. */
export interface ReadSamples {
  readonly samples: Int16Array;
  readonly sampleRateHz: number;
}

/** Reads the bytes of one answer in order. `read` throws `SpeechError` for anything else than speech. */
export interface AudioReader {
  /** The answer has no more audio, whatever follows. */
  readonly isDone: boolean;
  read(bytes: Uint8Array): ReadSamples;
}

/** How raw samples are laid out. */
interface Layout {
  readonly sampleRateHz: number;
  readonly channels: number;
}

/** A reader of raw little-endian samples; several channels become their mean. */
export class PcmReader implements AudioReader {
  readonly isDone = false;
  readonly #layout: Layout;
  #rest: Uint8Array = new Uint8Array(0);

  /** Throws `SpeechError` for a rate or a number of channels that speech does not have. */
  constructor(layout: Layout) {
    const { sampleRateHz, channels } = layout;
    if (!SPEECH_RATES_HZ.includes(sampleRateHz))
      throw notSpeech(`audio of ${sampleRateHz} Hz, which is none of ${SPEECH_RATES_HZ.join(', ')}`);
    if (channels !== 1 && channels !== 2) throw notSpeech(`audio of ${channels} channels instead of 1 or 2`);
    this.#layout = layout;
  }

  read(bytes: Uint8Array): ReadSamples {
    const { sampleRateHz, channels } = this.#layout;
    const frameBytes = 2 * channels;
    const length = this.#rest.length + bytes.length;
    const whole = length - (length % frameBytes);
    // Memory has the same order: every machine we support is little-endian.
    const all = new Uint8Array(length + (length % 2));
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    this.#rest = all.slice(whole, length);
    const read = new Int16Array(all.buffer, 0, whole / 2);
    return { samples: channels === 1 ? read : meanOf(read), sampleRateHz };
  }
}

/** A reader of a WAV file. */
export class WavReader implements AudioReader {
  #head: Buffer | null = Buffer.alloc(0);
  #pcm: PcmReader | null = null;
  #leftBytes = 0;
  #tailBytes = 0;

  get isDone(): boolean {
    return this.#tailBytes > MAX_TAIL_BYTES;
  }

  read(bytes: Uint8Array): ReadSamples {
    if (this.#pcm) return this.#audio(this.#pcm, bytes);
    const head = Buffer.concat([this.#head ?? Buffer.alloc(0), bytes]);
    const found = findAudio(head.subarray(0, MAX_HEAD_BYTES));
    if (found === null && head.length >= MAX_HEAD_BYTES)
      throw notSpeech(`a WAV file without audio in its first ${MAX_HEAD_BYTES} bytes`);
    this.#head = found === null ? head : null;
    if (found === null) return { samples: new Int16Array(0), sampleRateHz: 0 };
    this.#pcm = new PcmReader(found);
    this.#leftBytes = found.bytes;
    return this.#audio(this.#pcm, head.subarray(found.at));
  }

  /** What follows the audio, such as a title, is not played. */
  #audio(pcm: PcmReader, bytes: Uint8Array): ReadSamples {
    const audio = bytes.subarray(0, Math.min(bytes.length, this.#leftBytes));
    this.#leftBytes -= audio.length;
    this.#tailBytes += bytes.length - audio.length;
    return pcm.read(audio);
  }
}

/** Where the audio of a WAV file begins, and how it is laid out; null if more bytes are needed. */
function findAudio(head: Buffer): (Layout & { readonly at: number; readonly bytes: number }) | null {
  const name = (at: number) => head.toString('latin1', at, at + 4);
  requireWav(name(0), name(8));
  let layout: Layout | null = null;
  for (let at = 12; at + CHUNK_HEAD_BYTES <= head.length; ) {
    const size = head.readUInt32LE(at + 4);
    const from = at + CHUNK_HEAD_BYTES;
    if (name(at) === 'data') {
      if (!layout) throw notSpeech('a WAV file without a format');
      return { ...layout, at: from, bytes: UNKNOWN_LENGTHS.includes(size) ? Number.POSITIVE_INFINITY : size };
    }
    if (name(at) === 'fmt ') {
      if (from + FORMAT_BYTES > head.length) return null;
      layout = layoutOf(head, from);
    }
    at = from + size + (size % 2);
  }
  return null;
}

/** The first names of the file, which may still be cut short. */
function requireWav(riff: string, wave: string): void {
  if (!'RIFF'.startsWith(riff) || !'WAVE'.startsWith(wave))
    throw notSpeech('something else than a WAV file as audio/wav');
}

function layoutOf(head: Buffer, at: number): Layout {
  const kind = head.readUInt16LE(at);
  const bits = head.readUInt16LE(at + 14);
  if ((kind !== PCM && kind !== EXTENSIBLE) || bits !== 16)
    throw notSpeech(`a WAV file of format ${kind} with ${bits} bits instead of 16-bit PCM`);
  return { channels: head.readUInt16LE(at + 2), sampleRateHz: head.readUInt32LE(at + 4) };
}

function meanOf(stereo: Int16Array): Int16Array {
  const mono = new Int16Array(stereo.length / 2);
  for (let index = 0; index < mono.length; index++)
    mono[index] = ((stereo[2 * index] ?? 0) + (stereo[2 * index + 1] ?? 0)) >> 1;
  return mono;
}

/** The error for an answer that cannot be played. It would be the same for every text of the call. */
export function notSpeech(what: string): SpeechError {
  return new SpeechError('bad_request', `${OWN_SERVER} sent ${what}`);
}
