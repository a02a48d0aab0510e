/**
 * Synthesised audio as the bytes of a file format, made while the audio is made: wav, pcm, mp3 and opus (in
 * Ogg), mono.
 */
import { createMp3Encoder } from 'wasm-media-encoders';
import { createOpusEncoder } from '../../dsp/opus-encoder.ts';
import { wavHeader } from '../wav.ts';
import { OGG_FRAME_SAMPLES, OggOpusWriter } from './ogg-opus.ts';

/**
 * What the bytes are to be. Rates in Hz, bit rates in bit/s; null leaves the Opus bit rate to the encoder.
 */
export type AudioOutput =
  | { readonly format: 'wav' | 'pcm'; readonly sampleRateHz: number }
  | { readonly format: 'mp3'; readonly sampleRateHz: number; readonly bitRate: 64_000 | 128_000 | 192_000 }
  | { readonly format: 'opus'; readonly sampleRateHz: 48_000; readonly bitRate: number | null };

/** One stream of audio being encoded. */
export interface AudioEncoder {
  /** Bytes that are ready after these samples; possibly none. */
  encode(samples: Int16Array): Uint8Array;
  /** The last bytes. */
  finish(): Uint8Array;
}

const NOTHING = new Uint8Array(0);

/** Starts a stream in this format. */
export async function createAudioEncoder(output: AudioOutput): Promise<AudioEncoder> {
  switch (output.format) {
    case 'pcm':
      return { encode: toBytes, finish: () => NOTHING };
    case 'wav':
      return withHead(wavHeader(output.sampleRateHz), { encode: toBytes, finish: () => NOTHING });
    case 'mp3':
      return createMp3(output.sampleRateHz, output.bitRate);
    case 'opus':
      return createOpus(output.bitRate);
  }
}

/** 16-bit little-endian, as every machine this runs on has them in memory. */
function toBytes(samples: Int16Array): Uint8Array {
  return new Uint8Array(samples.slice().buffer);
}

/** Puts a head in front of the first bytes, whatever they are. */
function withHead(head: Uint8Array, encoder: AudioEncoder): AudioEncoder {
  let unsent: Uint8Array | null = head;
  const lead = (bytes: Uint8Array) => {
    if (unsent === null) return bytes;
    const joined = Buffer.concat([unsent, bytes]);
    unsent = null;
    return new Uint8Array(joined);
  };
  return { encode: (samples) => lead(encoder.encode(samples)), finish: () => lead(encoder.finish()) };
}

async function createMp3(sampleRate: number, bitRate: 64_000 | 128_000 | 192_000): Promise<AudioEncoder> {
  const encoder = await createMp3Encoder();
  encoder.configure({
    sampleRate: sampleRate as 32_000 | 44_100,
    channels: 1,
    bitrate: (bitRate / 1_000) as 64 | 128 | 192,
  });
  return {
    // What comes back lies in the encoder's own memory, which the next call overwrites.
    encode: (samples) => encoder.encode([Float32Array.from(samples, (sample) => sample / 32_768)]).slice(),
    finish: () => encoder.finalize().slice(),
  };
}

function createOpus(bitRate: number | null): AudioEncoder {
  const codec = createOpusEncoder({ sampleRateHz: 48_000, application: 'audio', bitRate });
  const writer = new OggOpusWriter();
  const frame = new Int16Array(OGG_FRAME_SAMPLES);
  let filled = 0;
  let total = 0;
  return withHead(writer.head(), {
    encode: (samples) => {
      const pages: Uint8Array[] = [];
      total += samples.length;
      for (let at = 0; at < samples.length; ) {
        const count = Math.min(samples.length - at, frame.length - filled);
        frame.set(samples.subarray(at, at + count), filled);
        at += count;
        filled += count;
        if (filled < frame.length) break;
        filled = 0;
        pages.push(writer.add(codec.encode(frame)));
      }
      return Buffer.concat(pages);
    },
    finish: () => {
      const pages: Uint8Array[] = [];
      // The codec is behind by its look-ahead: silence brings the last of the speech out.
      for (const missing = total + writer.preSkip; writer.samples < missing; ) {
        frame.fill(0, filled);
        filled = 0;
        pages.push(writer.add(codec.encode(frame)));
      }
      return Buffer.concat([...pages, writer.end(total)]);
    },
  });
}
