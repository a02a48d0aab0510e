/**
 * Connects the codec of an RTP stream to its leg: payloads to samples at the leg's rate and back, resampled
 * if the rates differ.
 */
import { Decoder as OpusDecoder } from '@evan/opus/wasm/index.mjs';
import { FRAME_MS } from '../dsp/frame.ts';
import { decodeG711, encodeG711 } from '../dsp/g711.ts';
import { G722Decoder, G722Encoder } from '../dsp/g722.ts';
import { createOpusEncoder } from '../dsp/opus-encoder.ts';
import { Resampler } from '../dsp/pcm.ts';
import type { RtpCodec } from '../leg/rtp-remote.ts';
import { CODECS } from './codec-table.ts';

/** Longest accepted payload, bytes: 200 ms of G.711. */
export const MAX_PAYLOAD_BYTES = 1600;
/** Room for one encoded frame, bytes: the longest Opus packet (RFC 6716 §3.4). */
export const MAX_ENCODED_BYTES = 1276;
/** Transparent for speech at 16 kHz (RFC 7587 §3.1.1 recommends 16 to 20 kbit/s); bit/s. */
const OPUS_BIT_RATE = 24_000;
/** Of 10: higher values cost CPU without an audible gain for speech. */
const OPUS_COMPLEXITY = 5;
/** Expected loss that in-band FEC protects against, per cent. */
const OPUS_EXPECTED_LOSS = 5;

/** A codec at its own rate. */
interface Coder {
  /** Encodes one frame into `bytes` from `offset`; returns the offset after the last byte. */
  encode(samples: Int16Array, bytes: Uint8Array, offset: number): number;
  /** Decodes one payload; the view is valid until the next call, and empty if decoding fails. */
  decode(payload: Uint8Array): Int16Array;
  /** Of codecs that have a choice; bit/s. */
  setBitRate?(bitRate: number): void;
}

/** Encodes and decodes one stream. */
export class CodecStream {
  readonly #coder: Coder;
  readonly #toLeg: Converter | null;
  readonly #fromLeg: Converter | null;

  constructor(codec: RtpCodec, legRateHz: number) {
    const { rateHz } = CODECS[codec];
    this.#coder = coderOf(codec);
    this.#toLeg = rateHz === legRateHz ? null : new Converter(rateHz, legRateHz);
    this.#fromLeg = rateHz === legRateHz ? null : new Converter(legRateHz, rateHz);
  }

  /** Encodes one frame of the leg into `bytes` from `offset`; returns the offset after the last byte. */
  encode(samples: Int16Array, bytes: Uint8Array, offset: number): number {
    return this.#coder.encode(this.#fromLeg?.convert(samples) ?? samples, bytes, offset);
  }

  /**
   * Decodes one payload to samples at the leg's rate; the view is valid until the next call, and empty if
   * decoding fails.
   */
  decode(payload: Uint8Array): Int16Array {
    const samples = this.#coder.decode(payload);
    return this.#toLeg?.convert(samples) ?? samples;
  }

  /** The other end takes at most so many bit/s of Opus; null: it does not say. */
  limitBitRate(maxBitRate: number | null): void {
    this.#coder.setBitRate?.(Math.min(OPUS_BIT_RATE, maxBitRate ?? OPUS_BIT_RATE));
  }
}

/** The codecs of one leg, each with the state of both directions. */
export class CodecStreams {
  readonly #legRateHz: number;
  readonly #streams = new Map<RtpCodec, CodecStream>();
  #maxBitRate: number | null = null;

  constructor(legRateHz: number) {
    this.#legRateHz = legRateHz;
  }

  of(codec: RtpCodec): CodecStream {
    const existing = this.#streams.get(codec);
    if (existing) return existing;
    const stream = new CodecStream(codec, this.#legRateHz);
    stream.limitBitRate(this.#maxBitRate);
    this.#streams.set(codec, stream);
    return stream;
  }

  /** The limit of all streams from the next frame on, as that of one. */
  limitBitRate(maxBitRate: number | null): void {
    if (maxBitRate === this.#maxBitRate) return;
    this.#maxBitRate = maxBitRate;
    for (const stream of this.#streams.values()) stream.limitBitRate(maxBitRate);
  }

  /** Resets all streams. */
  clear(): void {
    this.#streams.clear();
  }
}

function coderOf(codec: RtpCodec): Coder {
  switch (codec) {
    case 'PCMU':
    case 'PCMA':
      return createG711(codec);
    case 'G722':
      return createG722();
    case 'opus':
      return createOpus();
    default:
      return codec satisfies never;
  }
}

function createG711(codec: 'PCMU' | 'PCMA'): Coder {
  const decoded = new Int16Array(MAX_PAYLOAD_BYTES);
  // Nearly every packet has the length of the last one.
  let last = decoded;
  return {
    encode: (samples, bytes, offset) => encodeG711(codec, samples, bytes, offset),
    decode(payload) {
      const length = decodeG711(codec, payload, decoded);
      if (last.length !== length) last = decoded.subarray(0, length);
      return last;
    },
  };
}

function createG722(): Coder {
  const [encoder, decoder] = [new G722Encoder(), new G722Decoder()];
  const decoded = new Int16Array(2 * MAX_PAYLOAD_BYTES);
  return {
    encode: (samples, bytes, offset) => encoder.encode(samples, bytes, offset),
    decode: (payload) => decoded.subarray(0, decoder.decode(payload, decoded)),
  };
}

function createOpus(): Coder {
  const encoder = createOpusEncoder({
    sampleRateHz: CODECS.opus.rateHz,
    application: 'voip',
    bitRate: OPUS_BIT_RATE,
    complexity: OPUS_COMPLEXITY,
    expectedLoss: OPUS_EXPECTED_LOSS,
  });
  const decoder = new OpusDecoder({ channels: 1, sample_rate: CODECS.opus.rateHz });
  return {
    encode(samples, bytes, offset) {
      const packet = encoder.encode(samples);
      bytes.set(packet, offset);
      return offset + packet.length;
    },
    decode: (payload) => decodeOpus(decoder, payload),
    setBitRate: (bitRate) => encoder.setBitRate(bitRate),
  };
}

/**
 * The decoder would invent audio for an empty payload and throw for a damaged one: both count as no audio.
 */
function decodeOpus(decoder: OpusDecoder, payload: Uint8Array): Int16Array {
  if (payload.length === 0) return new Int16Array(0);
  try {
    const bytes = decoder.decode(payload);
    return new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
  } catch {
    return new Int16Array(0);
  }
}

/** A resampler with its output buffer. */
class Converter {
  readonly #resampler: Resampler;
  #output: Int16Array;

  constructor(inRateHz: number, outRateHz: number) {
    this.#resampler = new Resampler(inRateHz, outRateHz);
    this.#output = new Int16Array(this.#resampler.outputCapacity((inRateHz * FRAME_MS) / 1000));
  }

  convert(samples: Int16Array): Int16Array {
    const capacity = this.#resampler.outputCapacity(samples.length);
    if (this.#output.length < capacity) this.#output = new Int16Array(capacity);
    return this.#output.subarray(0, this.#resampler.push(samples, this.#output));
  }
}
