import { expect, it } from 'vitest';
import { spellNumerals } from '#media/speech/text/english-numerals.ts';

it.each([
  ['A table for 7 at 10, please.', 'A table for seven at ten, please.'],
  ['It costs 3.50 dollars.', 'It costs three point five zero dollars.'],
  ['In 2026.', 'In two thousand twenty-six.'],
  ['Call 5550100.', 'Call five five five zero one zero zero.'],
  ['Your code is 0042.', 'Your code is zero zero four two.'],
  ['It is 0.5 or 0.', 'It is zero point five or zero.'],
  ['It costs 1,234 dollars.', 'It costs one thousand two hundred thirty-four dollars.'],
  ['1,234,567.5', 'one million two hundred thirty-four thousand five hundred sixty-seven point five'],
  ['Rooms 7, 12 and 1,2345.', 'Rooms seven, twelve and one,two thousand three hundred forty-five.'],
  ['No numbers.', 'No numbers.'],
])('writes out the numerals of “%s”', (text, spelt) => {
  expect(spellNumerals(text)).toBe(spelt);
});
