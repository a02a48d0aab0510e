import { describe, expect, it } from 'vitest';
import { SPEAKING_LANGUAGES } from '#config/languages.ts';
import { judgeOverlap } from '#runtime/turn/machine/interruption/interruption.ts';
import { acknowledgementsFor, phrasesFor, symbolsFor } from '#runtime/turn/text/phrases.ts';
import { TurnScript } from './turn-script.ts';

/** A letter of the language's own script, to detect lines left in another language. */
const SCRIPTS: Readonly<Record<string, RegExp>> = {
  ja: /[\p{Script=Hiragana}\p{Script=Katakana}]/u,
  zh: /\p{Script=Han}/u,
  ko: /\p{Script=Hangul}/u,
  ar: /\p{Script=Arabic}/u,
  fa: /\p{Script=Arabic}/u,
  ur: /\p{Script=Arabic}/u,
  hi: /\p{Script=Devanagari}/u,
  mr: /\p{Script=Devanagari}/u,
  ne: /\p{Script=Devanagari}/u,
  ru: /\p{Script=Cyrillic}/u,
  bg: /\p{Script=Cyrillic}/u,
  uk: /\p{Script=Cyrillic}/u,
  kk: /\p{Script=Cyrillic}/u,
  el: /\p{Script=Greek}/u,
  he: /\p{Script=Hebrew}/u,
  ka: /\p{Script=Georgian}/u,
  hy: /\p{Script=Armenian}/u,
  bn: /\p{Script=Bengali}/u,
  ta: /\p{Script=Tamil}/u,
  te: /\p{Script=Telugu}/u,
  kn: /\p{Script=Kannada}/u,
  gu: /\p{Script=Gujarati}/u,
  pa: /\p{Script=Gurmukhi}/u,
  th: /\p{Script=Thai}/u,
};

describe.each(SPEAKING_LANGUAGES)('an agent that speaks %s', (language) => {
  it('says its own lines in that language', () => {
    const lines = [...Object.values(phrasesFor(language)), ...Object.values(symbolsFor(language))];
    expect(
      lines.filter((line) => line.trim() === '' || !(SCRIPTS[language] ?? /\p{Script=Latin}/u).test(line)),
    ).toEqual([]);
    if (language !== 'en') expect(phrasesFor(language).hold).not.toBe(phrasesFor('en').hold);
  });

  it('continues over one or two acknowledgements, and stops for other words', () => {
    const { config } = new TurnScript({ language }).state;
    const acknowledgements = acknowledgementsFor(language);
    const judged = (text: string) => judgeOverlap(text, true, '', config);
    expect(acknowledgements.length).toBeGreaterThan(10);
    expect(acknowledgements.filter((said) => judged(said) !== 'acknowledgement')).toEqual([]);
    expect(judged(`${acknowledgements[0]}, ${acknowledgements[1]}.`)).toBe('acknowledgement');
    expect(judged(`${acknowledgements[0]} 42`)).toBe('words');
    expect(judged(phrasesFor(language).stillThere)).toBe('words');
  });
});

it('words in scripts without spaces are separated', () => {
  const { config } = new TurnScript({ language: 'ja' }).state;
  expect(judgeOverlap('はいはい、そうですね。', true, '', config)).toBe('acknowledgement');
  expect(judgeOverlap('はい、予約を変えたいです', true, '', config)).toBe('words');
});

it('an unknown language code is treated as English', () => {
  expect([phrasesFor('xx').goodbye, phrasesFor('constructor').goodbye]).toEqual(['Goodbye.', 'Goodbye.']);
});
