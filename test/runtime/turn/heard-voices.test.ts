/**
 * The estimate of what was heard against real voices, whose own word times are known and kept from it. `npm
 * run bench:heard` tells the figures.
 */
import { describe, expect, it } from 'vitest';
import { bias, joined, partWithin, wordsOff } from '#bench/heard/estimate.ts';
import { SENTENCES } from '#bench/heard/sentences.ts';
import { speak } from '#caller/spoken.ts';
import { PROVIDER_VOICES } from '#config/platform-models.ts';
import { VoicePace } from '#runtime/turn/machine/heard.ts';
import { speakable } from '#runtime/turn/text/speakable-text.ts';
import { createRandom } from '#test/simulation/random.ts';

/**
 * Some of those its likelihoods were not counted in, which are the odd ones: most of the time goes to the
 * voices.
 */
const SAMPLE = SENTENCES.en.filter((_, index) => index % 4 === 1);
const RATES_HZ = [8_000, 16_000];

describe('a voice without word times', () => {
  const calls = PROVIDER_VOICES.local.map(({ id }, voice) => {
    const rateHz = RATES_HZ[voice % RATES_HZ.length] ?? 8_000;
    const [pace, random] = [new VoicePace(), createRandom(5)];
    const sentences = SAMPLE.map((text) => {
      const speech = speakable(text, { language: 'en', needsWords: true });
      return wordsOff({ text, speech, ...speak(speech.spoken, { rateHz, voice: id }) }, pace, random);
    });
    return { id, ...joined(sentences) };
  });
  const { whole, ahead, edge } = joined(calls);

  for (const { id, ...off } of calls)
    it(`as ${id} is known to have been heard within one word (p95)`, () => {
      expect(partWithin(off.whole, 1)).toBeGreaterThanOrEqual(0.95);
    });

  it('is known within one word (p95) at the very edge of its audio, too', () => {
    expect(partWithin(edge, 1)).toBeGreaterThanOrEqual(0.95);
  });

  it('is known to the word mostly', () => {
    expect(partWithin(whole, 0)).toBeGreaterThan(0.82);
    expect(partWithin(ahead, 0)).toBeGreaterThan(0.8);
    expect(partWithin(edge, 0)).toBeGreaterThan(0.7);
  });

  it('is taken to have said neither too much nor too little', () => {
    for (const samples of [whole, ahead, edge]) expect(Math.abs(bias(samples))).toBeLessThan(0.1);
  });
});
