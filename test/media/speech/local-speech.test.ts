import { expect, it } from 'vitest';
import { localSynthesizer } from '#media/speech/local/local-synthesizer.ts';
import type { Synthesizer } from '#media/speech/speech.ts';
import { collect } from '#test/collect.ts';
import { speak } from './vendor-conformance.ts';

/** An engine identifiable by its audio. */
function engine(
  id: string,
  sample: number,
  voices: Synthesizer['voices'],
): Synthesizer & { prepared: number } {
  return {
    id,
    voices,
    prepared: 0,
    prepare() {
      this.prepared++;
    },
    async *synthesise() {
      yield { samples: Int16Array.of(sample), sampleRateHz: 8_000, words: null };
    },
  };
}

const english = () => engine('english', 1, [{ id: 'slt', name: 'Slt', languages: ['en'] }]);
const others = () =>
  engine(
    'others',
    2,
    ['en', 'de'].map((language) => ({ id: `e-${language}`, name: language, languages: [language] })),
  );
const heard = async (synthesizer: Synthesizer, over: { voiceId?: string; language?: string }) =>
  (await collect(speak(synthesizer, 'Hello.', new AbortController().signal, over)))[0]?.samples[0];

it('the requested voice decides, then the language, then the first engine', async () => {
  const local = localSynthesizer([english(), others()]);
  expect(local.voices.map(({ id }) => id)).toEqual(['slt', 'e-en', 'e-de']);
  expect(await heard(local, {})).toBe(1);
  expect(await heard(local, { language: 'de' })).toBe(2);
  expect(await heard(local, { voiceId: 'slt', language: 'de' })).toBe(1);
  expect(await heard(local, { voiceId: 'e-en' })).toBe(2);
  expect(await heard(local, { voiceId: 'nobody', language: 'tl' })).toBe(1);
  expect(await heard(localSynthesizer([english()]), { language: 'de' })).toBe(1);
});

it('only the engine that will speak is prepared', () => {
  const [first, second] = [english(), others()];
  localSynthesizer([first, second]).prepare?.({
    voiceId: null,
    language: 'de',
    speed: 1,
    sampleRateHz: 8_000,
  });
  expect([first.prepared, second.prepared]).toEqual([0, 1]);
});
