import { expect, it } from 'vitest';
import { spellNumerals } from '#media/speech/text/english-numerals.ts';

it.each([
  ['A table for 7 at 10, please.', 'A table for seven at ten, please.'],
  ['It costs 3.50 dollars.', 'It costs three point five zero dollars.'],
  ['In 2026.', 'In two thousand twenty-six.'],
  ['Call 5550100.', 'Call five five five zero one zero zero.'],
  ['No numbers.', 'No numbers.'],
])('writes out the numerals of “%s”', (text, spelt) => {
  expect(spellNumerals(text)).toBe(spelt);
});
