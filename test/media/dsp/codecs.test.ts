import { describe, expect, it } from 'vitest';
import { decodeG711, encodeG711 } from '#media/dsp/g711.ts';

function roundTrip(codec: 'PCMU' | 'PCMA', samples: Int16Array): Int16Array {
  const bytes = new Uint8Array(samples.length);
  encodeG711(codec, samples, bytes, 0);
  const decoded = new Int16Array(samples.length);
  decodeG711(codec, bytes, decoded);
  return decoded;
}

describe.each(['PCMU', 'PCMA'] as const)('G.711 %s', (codec) => {
  it('carries a speech-level tone at the 37 dB the standard requires', () => {
    const tone = Int16Array.from(
      { length: 8000 },
      (_, n) => 6000 * Math.sin((2 * Math.PI * 1020 * n) / 8000),
    );
    const decoded = roundTrip(codec, tone);
    let signal = 0;
    let noise = 0;
    for (const [n, sample] of tone.entries()) {
      signal += sample * sample;
      noise += (sample - (decoded[n] ?? 0)) ** 2;
    }
    expect(10 * Math.log10(signal / noise)).toBeGreaterThan(37);
  });

  it('preserves every code through decoding and encoding', () => {
    const codes = Uint8Array.from({ length: 256 }, (_, code) => code);
    const linear = new Int16Array(256);
    decodeG711(codec, codes, linear);
    const again = roundTrip(codec, linear);
    expect(again).toEqual(linear);
  });

  it('is monotonic over the whole range', () => {
    const ramp = Int16Array.from({ length: 65_536 }, (_, n) => n - 32_768);
    const decoded = roundTrip(codec, ramp);
    expect(
      decoded.every((sample, n) => n === 0 || sample >= (decoded[n - 1] ?? 0) || Math.abs(sample) <= 8),
    ).toBe(true);
    expect(Math.sign(decoded[0] ?? 0)).toBe(-1);
    expect(Math.sign(decoded[65_535] ?? 0)).toBe(1);
  });
});

it('codes match ITU-T G.711', () => {
  const bytes = new Uint8Array(3);
  encodeG711('PCMU', Int16Array.of(0, 32_767, -32_768), bytes, 0);
  expect([...bytes]).toEqual([0xff, 0x80, 0x00]);
  encodeG711('PCMA', Int16Array.of(0, 32_767, -32_768), bytes, 0);
  expect([...bytes]).toEqual([0xd5, 0xaa, 0x2a]);
  const decoded = new Int16Array(2);
  decodeG711('PCMU', Uint8Array.of(0x80, 0x00), decoded);
  expect([...decoded]).toEqual([32_124, -32_124]);
});

it('a codec writes at the given offset and returns where it stopped', () => {
  const bytes = new Uint8Array(6);
  expect(encodeG711('PCMU', Int16Array.of(0, 0), bytes, 3)).toBe(5);
  expect([...bytes]).toEqual([0, 0, 0, 0xff, 0xff, 0]);
});
