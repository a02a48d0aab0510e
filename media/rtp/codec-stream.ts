/**
 * One codec of one RTP stream joined to its leg: payloads to samples at the leg's rate and back, resampled
 * where the two differ.
 */
import { Decoder as OpusDecoder } from '@evan/opus/wasm/index.mjs';
import { decodeG711, encodeG711 } from '../dsp/g711.ts';
import { G722Decoder, G722Encoder } from '../dsp/g722.ts';
import { createOpusEncoder } from '../dsp/opus-encoder.ts';
import { Resampler } from '../dsp/pcm.ts';
import { FRAME_MS, type RtpCodec } from '../leg/leg.ts';
import { CODECS } from './codec-table.ts';

/** Longest payload taken, bytes: 200 ms of G.711. */
export const MAX_PAYLOAD_BYTES = 1600;
/** Room for one encoded frame, bytes: the longest packet Opus makes (RFC 6716 §3.4). */
export const MAX_ENCODED_BYTES = 1276;
/** Speech at 16 kHz is transparent here (RFC 7587 §3.1.1 names 16 to 20 for it); bit/s. */
const OPUS_BIT_RATE = 24_000;
/** Of 10: each step costs processor time, and above this nothing is heard of it in speech. */
const OPUS_COMPLEXITY = 5;
/** Loss the encoder prepares for by in-band correction, per cent. */
const OPUS_EXPECTED_LOSS = 5;

/** A codec at its own rate. */
interface Coder {
  /** Encodes one frame into `bytes` from `offset` on; returns the offset after the last byte. */
  encode(samples: Int16Array, bytes: Uint8Array, offset: number): number;
  /** Decodes one payload; a view that is good until the next call, empty for what cannot be decoded. */
  decode(payload: Uint8Array): Int16Array;
}

/** Codes one stream in both directions. */
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

  /** Encodes one frame of the leg into `bytes` from `offset` on; returns the offset after the last byte. */
  encode(samples: Int16Array, bytes: Uint8Array, offset: number): number {
    return this.#coder.encode(this.#fromLeg?.convert(samples) ?? samples, bytes, offset);
  }

  /**
   * Decodes one payload to samples at the leg's rate; a view that is good until the next call, empty for what
   * cannot be decoded.
   */
  decode(payload: Uint8Array): Int16Array {
    const samples = this.#coder.decode(payload);
    return this.#toLeg?.convert(samples) ?? samples;
  }
}

/** The codecs of one leg, each with its memory of both directions. */
export class CodecStreams {
  readonly #legRateHz: number;
  readonly #streams = new Map<RtpCodec, CodecStream>();

  constructor(legRateHz: number) {
    this.#legRateHz = legRateHz;
  }

  of(codec: RtpCodec): CodecStream {
    const known = this.#streams.get(codec);
    if (known) return known;
    const stream = new CodecStream(codec, this.#legRateHz);
    this.#streams.set(codec, stream);
    return stream;
  }

  /** Forgets the streams so far. */
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
  // Nearly every packet is as long as the one before it.
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
  };
}

/**
 * An empty payload would make the decoder invent audio, and a damaged one makes it throw: both are no audio.
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

/** A resampler with a place for what it makes. */
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
