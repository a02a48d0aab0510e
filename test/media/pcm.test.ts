import { describe, expect, it } from 'vitest';
import { levelDb, Resampler, resample, SILENCE_DB } from '#media/pcm.ts';

const sine = (rateHz: number, ms: number, hz: number) =>
  Int16Array.from({ length: (rateHz * ms) / 1000 }, (_, n) => 16_000 * Math.sin((2 * Math.PI * hz * n) / rateHz));

/** Signal to noise in dB against the best-fitting sine of this frequency, the edges left out. */
function snrDb(samples: Int16Array, rateHz: number, hz: number): number {
  const from = rateHz / 5;
  const to = samples.length - rateHz / 5;
  const [cosine, sine] = [Math.cos, Math.sin].map((wave) => {
    let sum = 0;
    for (let n = from; n < to; n++) sum += (samples[n] ?? 0) * wave((2 * Math.PI * hz * n) / rateHz);
    return (sum * 2) / (to - from);
  }) as [number, number];
  let signal = 0;
  let noise = 0;
  for (let n = from; n < to; n++) {
    const model = cosine * Math.cos((2 * Math.PI * hz * n) / rateHz) + sine * Math.sin((2 * Math.PI * hz * n) / rateHz);
    signal += model * model;
    noise += ((samples[n] ?? 0) - model) ** 2;
  }
  return 10 * Math.log10(signal / noise);
}

function stream(samples: Int16Array, inRateHz: number, outRateHz: number, blockSizes: readonly number[]): Int16Array {
  const resampler = new Resampler(inRateHz, outRateHz);
  const converted: number[] = [];
  for (let at = 0, block = 0; at < samples.length; block++) {
    const size = blockSizes[block % blockSizes.length] ?? 160;
    const input = samples.subarray(at, at + size);
    const output = new Int16Array(resampler.outputCapacity(input.length));
    converted.push(...output.subarray(0, resampler.push(input, output)));
    at += size;
  }
  return Int16Array.from(converted);
}

describe('the resampler', () => {
  it.each([
    [8000, 48_000],
    [8000, 16_000],
    [16_000, 8000],
    [48_000, 16_000],
    [48_000, 8000],
    [22_050, 8000],
    [22_050, 24_000],
    [24_000, 8000],
  ])('converts %i to %i Hz with more than 75 dB', (inRateHz, outRateHz) => {
    const converted = stream(sine(inRateHz, 1000, 1000), inRateHz, outRateHz, [inRateHz / 50]);
    expect(Math.abs(converted.length - outRateHz)).toBeLessThanOrEqual(1);
    expect(snrDb(converted, outRateHz, 1000)).toBeGreaterThan(75);
  });

  it('gives the same samples however the stream is cut', () => {
    const samples = sine(8000, 400, 700);
    expect(stream(samples, 8000, 24_000, [160])).toEqual(stream(samples, 8000, 24_000, [1, 7, 159, 2000, 33]));
  });

  it('removes what the lower rate cannot carry', () => {
    const converted = stream(sine(48_000, 500, 6000), 48_000, 8000, [480]);
    expect(levelDb(converted.subarray(400))).toBeLessThan(-70);
  });

  it('clips instead of wrapping around', () => {
    const square = Int16Array.from({ length: 800 }, (_, n) => (n % 16 < 8 ? 32_767 : -32_768));
    const converted = resample(square, 8000, 16_000);
    // An overshoot that wrapped would stand with the wrong sign in the middle of a half-wave.
    for (let n = 200; n < 1400; n++) {
      if (Math.abs(converted[n] ?? 0) > 32_000) expect(Math.abs((converted[n] ?? 0) - (converted[n + 1] ?? 0))).toBeLessThan(50_000);
    }
    expect(Math.max(...converted)).toBe(32_767);
  });
});

it('measures levels in dBFS', () => {
  expect(levelDb(new Int16Array(100))).toBe(SILENCE_DB);
  expect(levelDb(new Int16Array(100).fill(-32_768))).toBeCloseTo(0, 5);
  expect(levelDb(sine(8000, 100, 1000))).toBeCloseTo(-9.2, 1);
});
