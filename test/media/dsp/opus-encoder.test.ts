import { expect, it } from 'vitest';
import { speak } from '#caller/spoken.ts';
import { createOpusEncoder, type OpusSettings } from '#media/dsp/opus-encoder.ts';

const FRAME_SAMPLES = 960;
const SPOKEN = speak('A table for two, please.', { rateHz: 48_000 }).samples;

/** Encoded size of the speech, in bytes. */
function sizeOf(settings: Omit<OpusSettings, 'sampleRateHz'>): number {
  const encoder = createOpusEncoder({ sampleRateHz: 48_000, ...settings });
  let bytes = 0;
  for (let at = 0; at + FRAME_SAMPLES <= SPOKEN.length; at += FRAME_SAMPLES)
    bytes += encoder.encode(SPOKEN.subarray(at, at + FRAME_SAMPLES)).length;
  return bytes;
}

it('the requested bit rate is kept', () => {
  const bitRateOf = (bitRate: number | null) =>
    (sizeOf({ application: 'audio', bitRate }) * 8 * 48_000) / SPOKEN.length;
  expect(bitRateOf(24_000)).toBeLessThan(30_000);
  expect(bitRateOf(64_000)).toBeGreaterThan(45_000);
  expect(bitRateOf(null)).toBeGreaterThan(30_000);
});

it('in-band FEC adds the speech of the previous frame to a frame', () => {
  const plain = { application: 'voip', bitRate: null } as const;
  expect(sizeOf({ ...plain, expectedLoss: 20 })).not.toBe(sizeOf(plain));
});

it.each<Partial<OpusSettings>>([{ complexity: 11 }, { expectedLoss: 101 }, { bitRate: -5 }])(
  'refuses %o',
  (over) => {
    expect(() =>
      createOpusEncoder({ sampleRateHz: 48_000, application: 'voip', bitRate: 24_000, ...over }),
    ).toThrow();
  },
);
