import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutSentences } from '#media/speech/text/sentences.ts';

const cut = (text: string) => cutSentences(text).map(({ start, end }) => text.slice(start, end));

it('text is split at the ends of sentences, not at abbreviations or inside numbers', () => {
  expect(cut('Hello. It is $5.50, Dr. Smith! Really?')).toEqual([
    'Hello.',
    'It is $5.50, Dr. Smith!',
    'Really?',
  ]);
});

it('an endless sentence is split at a comma', () => {
  const pieces = cut(`${'word '.repeat(20)}end, ${'more '.repeat(30)}`);
  expect(pieces[0]).toMatch(/end,$/);
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(160);
});

it('every visible character is kept, in order, for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'ab .!?,\n'), maxLength: 600 }), (text) => {
      expect(cut(text).join('').replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
    }),
  );
});
