/** Encodes synthesised audio while it is made: wav, pcm, mp3 and opus (in Ogg), mono. */
import { createMp3Encoder } from 'wasm-media-encoders';
import { createOpusEncoder } from '../../dsp/opus-encoder.ts';
import { wavHeader } from '../audio/wav.ts';
import { OGG_FRAME_SAMPLES, OggOpusWriter } from './ogg-opus.ts';

/** The target format. Rates in Hz, bit rates in bit/s; null: the encoder chooses the Opus bit rate. */
export type AudioOutput =
  | { readonly format: 'wav' | 'pcm'; readonly sampleRateHz: number }
  | { readonly format: 'mp3'; readonly sampleRateHz: number; readonly bitRate: 64_000 | 128_000 | 192_000 }
  | { readonly format: 'opus'; readonly sampleRateHz: 48_000; readonly bitRate: number | null };

/** One stream being encoded. */
export interface AudioEncoder {
  /** Encodes samples and returns the bytes ready so far, possibly none. */
  encode(samples: Int16Array): Uint8Array;
  /** Returns the last bytes. */
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

/** 16-bit little-endian, like the memory of every machine we support. */
function toBytes(samples: Int16Array): Uint8Array {
  return new Uint8Array(samples.slice().buffer);
}

/** Prepends a header to the first bytes. */
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
    // A copy: the result is in the encoder's own memory, which the next call overwrites.
    encode: (samples) => encoder.encode([toFloats(samples)]).slice(),
    finish: () => encoder.finalize().slice(),
  };
}

/** Not `Float32Array.from`: it asks an iterator for each sample, which takes ten times as long. */
function toFloats(samples: Int16Array): Float32Array {
  const floats = new Float32Array(samples.length);
  for (let index = 0; index < samples.length; index++) floats[index] = (samples[index] ?? 0) / 32_768;
  return floats;
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
      // The codec lags by its look-ahead: silence flushes the end of the speech.
      for (const missing = total + writer.preSkip; writer.samples < missing; ) {
        frame.fill(0, filled);
        filled = 0;
        pages.push(writer.add(codec.encode(frame)));
      }
      return Buffer.concat([...pages, writer.end(total)]);
    },
  });
}
