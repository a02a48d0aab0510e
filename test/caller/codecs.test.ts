import { describe, expect, it } from 'vitest';
import { CODECS, openCoding, ticksOf } from '#caller/codecs.ts';
import { decodeAlaw, encodeAlaw } from '#caller/g711.ts';
import { decodeG711 } from '#media/dsp/g711.ts';
import { CALLER_CODECS } from '#protocol/caller-steps.ts';

const PACKET = 160;

describe('the caller’s A-law', () => {
  it('has the values of the product’s, which was written from the same standard by other means', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const values = new Int16Array(256);
    decodeG711('PCMA', bytes, values);
    expect(Array.from(bytes, decodeAlaw)).toEqual(Array.from(values));
    expect(Array.from(values, encodeAlaw)).toEqual(Array.from(bytes));
  });

  it('encodes every sample to a byte whose value is at most half a step away', () => {
    const samples = Int16Array.from({ length: 65_536 }, (_, index) => index - 32_768);
    // A step has 16 near zero, and then a sixteenth of where its segment begins.
    const far = samples.filter(
      (sample) => Math.abs(decodeAlaw(encodeAlaw(sample)) - sample) > Math.max(8, Math.abs(sample) / 32) + 1,
    );
    expect(far).toHaveLength(0);
  });
});

describe.each(CALLER_CODECS)('a caller with %s', (name) => {
  it('hears in 20 ms what was sent in 20 ms, at its own rate', () => {
    const coding = openCoding(CODECS[name]);
    const heard: number[] = [];
    for (let packet = 0; packet < 50; packet++) {
      const frame = Int16Array.from({ length: PACKET }, (_, index) =>
        Math.round(8_000 * Math.sin((2 * Math.PI * 400 * (packet * PACKET + index)) / 8_000)),
      );
      heard.push(...coding.decode(coding.encode(frame)));
    }
    expect(Math.abs(heard.length - 50 * PACKET)).toBeLessThan(PACKET);
    const late = heard.slice(20 * PACKET);
    const rms = Math.sqrt(late.reduce((sum, sample) => sum + sample * sample, 0) / late.length);
    expect(rms / (8_000 / Math.SQRT2)).toBeCloseTo(1, 0);
  });

  it('counts the time of 20 ms in the clock of its codec', () => {
    expect(ticksOf(CODECS[name])).toBe(name === 'opus' ? 960 : 160);
  });
});
