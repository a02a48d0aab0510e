import { describe, expect, it } from 'vitest';
import { cutSentences } from '#media/speech/text/sentences.ts';
import { createPieceCutter } from '#runtime/turn/loop/piece-cutter.ts';
import { readable, speakable } from '#runtime/turn/text/speakable-text.ts';
import { growthOf, MOST_GROWTH, repeated } from './growth.ts';
import { HOSTILE_TOKENS } from './tokens.ts';

const CHARS = 50_000;
const TOKENS = {
  ...HOSTILE_TOKENS,
  'dots in quotes': '.")',
  lines: '\n',
  'empty lines': ' \r',
  'half links': '[a](',
  'bold text': '**a',
  'lists of nothing': '\n- ',
  rules: '-|: ',
  abbreviations: 'a. ',
  'half a number': '1,234',
  'half an address': 'www.a.',
  'half a mail address': 'a@a.',
  'half an amount': '$1 illi',
  codes: 'A1-',
  'one word': 'x',
  'text without spaces': '日本',
};

/** Checks the worst of all tokens. */
function expectLinear(run: (text: string) => unknown): void {
  for (const [name, token] of Object.entries(TOKENS)) {
    const growth = growthOf({ make: (size) => repeated(token, size), run, longest: CHARS });
    expect(growth.ratio, `${name} at ${growth.size}`).toBeLessThanOrEqual(MOST_GROWTH);
  }
}

describe('security 6: text to be spoken', () => {
  it('is split into sentences in linear time', () => {
    expectLinear(cutSentences);
  });
});

describe('security 24: model output', () => {
  it('is made readable in linear time', () => {
    expectLinear(readable);
  });

  it('is worded for a voice in linear time', () => {
    for (const language of ['en', 'de'])
      expectLinear((text) => speakable(text, { language, needsWords: true }));
  });

  it('is split into pieces in linear time, however much of it arrives at once', () => {
    expectLinear((text) => {
      const cutter = createPieceCutter();
      return [...cutter.push(text), ...cutter.finish()];
    });
  });
});
