import { expect, it } from 'vitest';
import { Loudness } from '#media/speech/pool/loudness.ts';

const RATE_HZ = 24_000;

function tone(amplitude: number): Int16Array {
  return Int16Array.from({ length: RATE_HZ }, (_, index) => Math.round(amplitude * Math.sin(index / 10)));
}

function peakOf(samples: Int16Array): number {
  return samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
}

it('speech of any level comes out at about the same one', () => {
  const peaks = [2_000, 8_000].map((amplitude) => {
    const loudness = new Loudness(0, true);
    loudness.hear(tone(amplitude), RATE_HZ);
    return peakOf(loudness.level(tone(amplitude)));
  });
  expect(peaks[0]).toBeGreaterThan(4_500);
  expect(Math.abs((peaks[0] ?? 0) - (peaks[1] ?? 0))).toBeLessThan(20);
});

it('a requested gain is applied, and what would be too loud is clipped', () => {
  const loudness = new Loudness(6, false);
  const levelled = loudness.level(Int16Array.of(0, 1_000, -1_000, 30_000, -30_000));
  expect([...levelled]).toEqual([0, 1_995, -1_995, 32_767, -32_768]);
});

it('without a gain the samples stay as they are', () => {
  const samples = tone(8_000);
  expect(new Loudness(0, false).level(samples)).toBe(samples);
});

it('a change of gain is spread over the block', () => {
  const loudness = new Loudness(0, true);
  loudness.hear(tone(8_000), RATE_HZ);
  loudness.level(tone(8_000));
  for (let second = 0; second < 3; second++) loudness.hear(tone(1_000), RATE_HZ);
  const levelled = loudness.level(new Int16Array(1_000).fill(1_000));
  const steps = [...levelled].map((sample, index) => sample - (levelled[index - 1] ?? sample));
  expect((levelled[999] ?? 0) - (levelled[0] ?? 0)).toBeGreaterThan(200);
  expect(Math.max(...steps)).toBeLessThanOrEqual(2);
});
