import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import wabt from 'wabt';
import { levelDb, Resampler, resample, SILENCE_DB } from '#media/dsp/pcm.ts';
import { PolyphaseFilter } from '#media/dsp/polyphase.ts';

const { parseWat } = await wabt();

const sine = (rateHz: number, ms: number, hz: number) =>
  Int16Array.from(
    { length: (rateHz * ms) / 1000 },
    (_, n) => 16_000 * Math.sin((2 * Math.PI * hz * n) / rateHz),
  );

/**
 * The best-fitting sine at this frequency and the residual without it, in dB relative to unit power, edges
 * excluded.
 */
function fitTone(
  samples: Int16Array,
  rateHz: number,
  hz: number,
): { readonly signalDb: number; readonly restDb: number } {
  const from = rateHz / 5;
  const to = samples.length - rateHz / 5;
  const [cosine, sine] = [Math.cos, Math.sin].map((wave) => {
    let sum = 0;
    for (let n = from; n < to; n++) sum += (samples[n] ?? 0) * wave((2 * Math.PI * hz * n) / rateHz);
    return (sum * 2) / (to - from);
  }) as [number, number];
  let signal = 0;
  let rest = 0;
  for (let n = from; n < to; n++) {
    const model =
      cosine * Math.cos((2 * Math.PI * hz * n) / rateHz) + sine * Math.sin((2 * Math.PI * hz * n) / rateHz);
    signal += model * model;
    rest += ((samples[n] ?? 0) - model) ** 2;
  }
  return { signalDb: 10 * Math.log10(signal / (to - from)), restDb: 10 * Math.log10(rest / (to - from)) };
}

/** A sweep over the whole band at a level that never clips. */
const sweep = (rateHz: number, ms: number) => {
  const length = (rateHz * ms) / 1000;
  return Int16Array.from({ length }, (_, n) => 16_000 * Math.sin((Math.PI * n * n) / (2 * length)));
};

function stream(
  samples: Int16Array,
  inRateHz: number,
  outRateHz: number,
  blockSizes: readonly number[],
): Int16Array {
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
  it('equals its compiled source: `npm run build:wasm` has been run', () => {
    const source = parseWat('polyphase.wat', readFileSync('media/dsp/polyphase.wat', 'utf8'));
    expect(readFileSync('media/dsp/polyphase.wasm').equals(source.toBinary({}).buffer)).toBe(true);
  });

  it.each([
    [8000, 48_000],
    [8000, 16_000],
    [16_000, 8000],
    [48_000, 16_000],
    [48_000, 8000],
    [22_050, 8000],
    [22_050, 24_000],
    [24_000, 8000],
  ])('converts %i to %i Hz at more than 75 dB', (inRateHz, outRateHz) => {
    const converted = stream(sine(inRateHz, 1000, 1000), inRateHz, outRateHz, [inRateHz / 50]);
    expect(Math.abs(converted.length - outRateHz)).toBeLessThanOrEqual(1);
    const { signalDb, restDb } = fitTone(converted, outRateHz, 1000);
    expect(signalDb - restDb).toBeGreaterThan(75);
  });

  describe.each([
    [24_000, 8000],
    [48_000, 16_000],
    [16_000, 8000],
    [8000, 16_000],
    [24_000, 48_000],
    [44_100, 8000],
    [22_050, 24_000],
  ])('from %i to %i Hz', (inRateHz, outRateHz) => {
    const narrowerHz = Math.min(inRateHz, outRateHz);
    const bandHz = narrowerHz / 2;
    /** Response to a tone at a fraction of the band: its gain, and how far everything else lies below it. */
    const response = (share: number) => {
      const hz = 5 * Math.round((share * bandHz) / 5);
      const tone = sine(inRateHz, 1000, hz);
      const { signalDb, restDb } = fitTone(resample(tone, inRateHz, outRateHz), outRateHz, hz);
      return { gainDb: signalDb - fitTone(tone, inRateHz, hz).signalDb, purityDb: signalDb - restDb };
    };

    it.each([0.02, 0.1, 0.3, 0.5, 0.6, 0.7, 0.75])(
      'preserves a tone at %f of the band: its level, and no image',
      (share) => {
        const { gainDb, purityDb } = response(share);
        expect(Math.abs(gainDb)).toBeLessThan(0.1);
        expect(purityDb).toBeGreaterThan(65);
      },
    );

    it.each(outRateHz < inRateHz ? [1.11, 1.2, 1.5, 1.8] : [])(
      'removes a tone at %f of the band, which the lower rate cannot carry',
      (share) => {
        const tone = sine(inRateHz, 1000, share * bandHz);
        const converted = resample(tone, inRateHz, outRateHz);
        expect(levelDb(converted, outRateHz / 5, converted.length - outRateHz / 5)).toBeLessThan(
          levelDb(tone) - 65,
        );
      },
    );

    it('delays the signal by twelve samples of the lower rate', () => {
      const click = new Int16Array(inRateHz / 50);
      const at = click.length >> 1;
      click[at] = 16_000;
      const converted = resample(click, inRateHz, outRateHz);
      const laterSeconds = converted.indexOf(Math.max(...converted)) / outRateHz - at / inRateHz;
      expect(Math.abs(laterSeconds * narrowerHz - 12)).toBeLessThan(1);
    });

    it('returns the same samples however the stream is split', () => {
      const samples = sweep(inRateHz, 400);
      const whole = resample(samples, inRateHz, outRateHz);
      expect(levelDb(whole)).toBeGreaterThan(-20);
      expect(stream(samples, inRateHz, outRateHz, [inRateHz / 50])).toEqual(whole);
      expect(stream(samples, inRateHz, outRateHz, [1, 7, 159, 0, 2000, 33, 5000])).toEqual(whole);
    });
  });

  it('keeps interleaved streams of different rates separate', () => {
    const [voice, caller] = [sweep(24_000, 100), sweep(8000, 100)];
    const [down, up] = [new Resampler(24_000, 8000), new Resampler(8000, 16_000)];
    const [said, heard] = [new Int16Array(800), new Int16Array(1600)];
    for (let block = 0; block < 5; block++) {
      down.push(voice.subarray(block * 480, (block + 1) * 480), said.subarray(block * 160));
      up.push(caller.subarray(block * 160, (block + 1) * 160), heard.subarray(block * 320));
    }
    expect(said).toEqual(resample(voice, 24_000, 8000));
    expect(heard).toEqual(resample(caller, 8000, 16_000));
  });

  it.each([
    [44_101, 16_000],
    [383_999, 8_000],
    [4_001, 48_000],
    [23_963, 24_000],
  ])(
    'converts the unusual rate %i Hz to %i within a thousandth, without using more memory',
    (inRateHz, outRateHz) => {
      const filter = new PolyphaseFilter(inRateHz, outRateHz);
      expect(filter.phases).toBeLessThanOrEqual(640);
      const tone = sine(inRateHz, 1000, 803);
      const converted = resample(tone, inRateHz, outRateHz);
      expect(Math.abs(converted.length / outRateHz - 1)).toBeLessThan(0.001);
      const crossings = [...converted.keys()].filter(
        (n) => n > outRateHz / 10 && (converted[n] ?? 0) >= 0 && (converted[n - 1] ?? 0) < 0,
      );
      const heardHz = ((crossings.length - 1) * outRateHz) / ((crossings.at(-1) ?? 0) - (crossings[0] ?? 0));
      expect(Math.abs(heardHz / 803 - 1)).toBeLessThan(0.001);
      expect(levelDb(converted)).toBeGreaterThan(levelDb(tone) - 0.5);
    },
  );

  it('clips instead of wrapping around', () => {
    const square = Int16Array.from({ length: 800 }, (_, n) => (n % 16 < 8 ? 32_767 : -32_768));
    const converted = resample(square, 8000, 16_000);
    // A wrapped overshoot would appear with the wrong sign in the middle of a half-wave.
    for (let n = 200; n < 1400; n++) {
      if (Math.abs(converted[n] ?? 0) > 32_000)
        expect(Math.abs((converted[n] ?? 0) - (converted[n + 1] ?? 0))).toBeLessThan(50_000);
    }
    expect(Math.max(...converted)).toBe(32_767);
  });
});

it('levels are measured in dBFS', () => {
  expect(levelDb(new Int16Array(100))).toBe(SILENCE_DB);
  expect(levelDb(new Int16Array(100).fill(-32_768))).toBeCloseTo(0, 5);
  expect(levelDb(sine(8000, 100, 1000))).toBeCloseTo(-9.2, 1);
});
