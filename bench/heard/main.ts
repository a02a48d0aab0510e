/**
 * `npm run bench:heard`: measures how well the product estimates the words heard from Flite's voices, and
 * from eSpeak's if it is installed. Random numbers are seeded, so the figures depend on the code alone.
 */

import { systemClock } from '#base/clock.ts';
import { speak } from '#caller/spoken.ts';
import { quantile } from '#caller/statistics.ts';
import { LOCAL_VOICES } from '#config/platform-models.ts';
import { RateConverter } from '#media/dsp/pcm.ts';
import { createEspeak, detectEspeakVoices } from '#media/speech/local/espeak.ts';
import type { SpokenWord } from '#media/speech/speech.ts';
import { VoicePace } from '#runtime/turn/loop/heard.ts';
import { speakable } from '#runtime/turn/text/speakable-text.ts';
import { createRandom } from '#test/simulation/random.ts';
import { bias, merge, partWithin, type VoicedSentence, type WordsOff, wordsOff } from './estimate.ts';
import { SENTENCES } from './sentences.ts';

/** Telephone sample rate. */
const RATE_HZ = 8_000;
/** Maximum number of sentences from which a call learns a voice's speed. */
const CALL_SENTENCES = 15;

const all: WordsOff[] = [];
for (const { id } of LOCAL_VOICES) {
  const sentences = SENTENCES.en.map((text) => {
    const speech = speakable(text, { language: 'en', needsWords: true });
    return { text, speech, ...speak(speech.spoken, { rateHz: RATE_HZ, voice: id }) };
  });
  report(id, sentences);
}
if (detectEspeakVoices().length > 0) {
  const espeak = createEspeak(systemClock);
  for (const [language, texts] of Object.entries(SENTENCES)) {
    const sentences: VoicedSentence[] = [];
    for (const text of texts) {
      const speech = speakable(text, { language, needsWords: false });
      const options = {
        voiceId: `espeak-${language}`,
        language,
        speed: 1,
        emotion: null,
        sampleRateHz: RATE_HZ,
        signal: new AbortController().signal,
      };
      const converter = new RateConverter(RATE_HZ);
      const samples: number[] = [];
      const words: SpokenWord[] = [];
      for await (const chunk of espeak.synthesise(speech.spoken, options)) {
        samples.push(...converter.convert(chunk.samples, chunk.sampleRateHz));
        words.push(...(chunk.words ?? []));
      }
      sentences.push({ text, speech, samples: Int16Array.from(samples), rateHz: RATE_HZ, words });
    }
    report(`espeak-${language}`, sentences);
  }
  // The eSpeak process must not delay the exit of this one.
  void espeak.close();
}
print('all', merge(all));

function report(voice: string, sentences: readonly VoicedSentence[]): void {
  const random = createRandom(5);
  let pace = new VoicePace();
  const off = sentences.map((sentence, index) => {
    if (index % CALL_SENTENCES === 0) pace = new VoicePace();
    return wordsOff(sentence, pace, random);
  });
  all.push(...off);
  print(voice, merge(off));
}

function print(voice: string, off: WordsOff): void {
  for (const [name, samples] of Object.entries(off) as [keyof WordsOff, number[]][]) {
    const share = (words: number) => `${(100 * partWithin(samples, words)).toFixed(1)} %`;
    const p95 = quantile(samples.map(Math.abs), 0.95);
    console.log(
      `${voice.padEnd(10)} ${name.padEnd(6)} ${samples.length} moments: exact ${share(0)}, within one ` +
        `word ${share(1)}, p95 ${p95}, bias ${bias(samples).toFixed(2)} words`,
    );
  }
}
