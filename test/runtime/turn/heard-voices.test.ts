/**
 * The estimate of what was heard, against real voices whose own word times are known and withheld from it.
 * `npm run bench:heard` prints the figures.
 */
import { describe, expect, it } from 'vitest';
import { bias, merge, partWithin, wordsOff } from '#bench/heard/estimate.ts';
import { SENTENCES } from '#bench/heard/sentences.ts';
import { speak } from '#caller/spoken.ts';
import { LOCAL_VOICES } from '#config/platform-models.ts';
import { VoicePace } from '#runtime/turn/loop/heard.ts';
import { speakable } from '#runtime/turn/text/speakable-text.ts';
import { createRandom } from '#test/simulation/random.ts';

/**
 * Some of the odd-numbered sentences, which were not used to fit the likelihoods; only some, because
 * synthesis takes most of the time.
 */
const SAMPLE = SENTENCES.en.filter((_, index) => index % 4 === 1);
const RATES_HZ = [8_000, 16_000];

/** A voice that is a tone: every word is as long as the next, and none has a sound of its own. */
function hummed(text: string) {
  const speech = speakable(text, { language: 'en', needsWords: true });
  const [rateHz, wordMs] = [8_000, 330];
  const words = speech.words.map(({ spokenEnd }, index) => ({
    textEnd: spokenEnd,
    endMs: wordMs * (index + 1),
  }));
  const samples = Int16Array.from(
    { length: (rateHz * wordMs * words.length) / 1_000 },
    (_, index) => 8_000 * Math.sin((2 * Math.PI * 300 * index) / rateHz),
  );
  return { text, speech, samples, rateHz, words };
}

it('the heard text of a voice without the sounds of speech follows letters and time', () => {
  const [pace, random] = [new VoicePace(), createRandom(5)];
  // The first sentence tells the voice's speed, as a greeting does.
  const [, ...rest] = SAMPLE.map((text) => wordsOff(hummed(text), pace, random));
  const { whole, edge } = merge(rest);
  // Aligned with the sounds of the spelling it would be 0.9 and 0.6, and at the edge off by up to 13 words.
  expect(partWithin(whole, 1)).toBeGreaterThan(0.92);
  expect(partWithin(edge, 1)).toBeGreaterThan(0.72);
  expect(Math.max(...edge.map(Math.abs))).toBeLessThanOrEqual(6);
  for (const samples of [whole, edge]) expect(Math.abs(bias(samples))).toBeLessThan(0.4);
});

describe('the heard text of a voice without word times', () => {
  const calls = LOCAL_VOICES.map(({ id }, voice) => {
    const rateHz = RATES_HZ[voice % RATES_HZ.length] ?? 8_000;
    const [pace, random] = [new VoicePace(), createRandom(5)];
    const sentences = SAMPLE.map((text) => {
      const speech = speakable(text, { language: 'en', needsWords: true });
      return wordsOff({ text, speech, ...speak(speech.spoken, { rateHz, voice: id }) }, pace, random);
    });
    return { id, ...merge(sentences) };
  });
  const { whole, ahead, edge } = merge(calls);

  for (const { id, ...off } of calls)
    it(`is known within one word (p95) for ${id}`, () => {
      expect(partWithin(off.whole, 1)).toBeGreaterThanOrEqual(0.95);
    });

  it('is estimated within one word (p95), even at the very edge of its audio', () => {
    expect(partWithin(edge, 1)).toBeGreaterThanOrEqual(0.95);
  });

  it('is usually estimated to the exact word', () => {
    expect(partWithin(whole, 0)).toBeGreaterThan(0.82);
    expect(partWithin(ahead, 0)).toBeGreaterThan(0.8);
    expect(partWithin(edge, 0)).toBeGreaterThan(0.7);
  });

  it('has no bias in either direction', () => {
    for (const samples of [whole, ahead, edge]) expect(Math.abs(bias(samples))).toBeLessThan(0.1);
  });
});
