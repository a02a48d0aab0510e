import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { speak } from '#caller/spoken.ts';
import { G722Decoder, G722Encoder } from '#media/dsp/g722.ts';
import { itNeeds } from '../../needs.ts';

const spoken = speak('Please transfer me to a human agent.', { rateHz: 16_000 }).samples;
const speech = spoken.subarray(0, spoken.length - (spoken.length % 320));

function encode(samples: Int16Array): Uint8Array {
  const bytes = new Uint8Array(samples.length / 2);
  new G722Encoder().encode(samples, bytes, 0);
  return bytes;
}

function decode(bytes: Uint8Array): Int16Array {
  const samples = new Int16Array(bytes.length * 2);
  new G722Decoder().decode(bytes, samples);
  return samples;
}

function ffmpeg(from: readonly string[], to: readonly string[], input: Uint8Array): Buffer {
  return execFileSync('ffmpeg', ['-loglevel', 'error', ...from, '-i', '-', ...to, '-'], {
    input,
    maxBuffer: 1 << 24,
  });
}

describe('G.722', () => {
  itNeeds(['ffmpeg'])('encodes to the byte and decodes to the sample as another implementation does', () => {
    const raw = ['-f', 's16le', '-ar', '16000', '-ac', '1'];
    const theirs = ffmpeg(
      raw,
      ['-c:a', 'g722', '-f', 'g722'],
      new Uint8Array(speech.buffer, speech.byteOffset, speech.byteLength),
    );
    expect(Buffer.from(encode(speech)).equals(theirs)).toBe(true);
    const decoded = ffmpeg(['-f', 'g722'], ['-f', 's16le', '-ac', '1'], theirs);
    expect(Buffer.from(decode(theirs).buffer).equals(decoded)).toBe(true);
  });

  it('carries speech at more than 30 dB, 22 samples late', () => {
    const decoded = decode(encode(speech));
    let [signal, noise] = [0, 0];
    for (const [n, sample] of speech.subarray(0, -22).entries()) {
      signal += sample ** 2;
      noise += (sample - (decoded[n + 22] ?? 0)) ** 2;
    }
    expect(10 * Math.log10(signal / noise)).toBeGreaterThan(30);
  });

  it('encodes frame by frame exactly as it encodes everything at once, and writes at the given offset', () => {
    const [encoder, decoder] = [new G722Encoder(), new G722Decoder()];
    const [whole, decodedWhole] = [encode(speech), decode(encode(speech))];
    const [frame, samples] = [new Uint8Array(172), new Int16Array(320)];
    for (let n = 0; n < speech.length / 320; n++) {
      expect(encoder.encode(speech.subarray(n * 320, (n + 1) * 320), frame, 12)).toBe(172);
      expect(frame.subarray(12)).toEqual(whole.subarray(n * 160, (n + 1) * 160));
      expect(decoder.decode(frame.subarray(12), samples)).toBe(320);
      expect(samples).toEqual(decodedWhole.subarray(n * 320, (n + 1) * 320));
    }
  });

  it('stays within 16 bits for any input', () => {
    const loud = Int16Array.from({ length: 3_200 }, (_, n) => (n % 7 < 3 ? 32_767 : -32_768));
    expect(decode(encode(loud)).some((sample) => Math.abs(sample) > 20_000)).toBe(true);
    expect(decode(Uint8Array.from({ length: 800 }, (_, n) => (n * 97) & 0xff))).toHaveLength(1_600);
  });
});
