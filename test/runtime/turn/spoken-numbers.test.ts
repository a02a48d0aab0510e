/** Dictated numbers become digits in every language whose questions are known. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bareWords } from '#runtime/turn/text/normalised.ts';
import { cardinalWords } from '#runtime/turn/text/number-words.ts';
import { numberGroups } from '#runtime/turn/text/spoken-numbers.ts';

const LANGUAGES = ['de', 'en', 'es', 'fr', 'it', 'nl', 'pt'];

/** The digits of a text; other words are shown as they are. */
function read(text: string, language: string): string {
  return numberGroups(bareWords(text), language)
    .map(({ digits, words }) => (digits === '' ? words : digits))
    .join(' ');
}

describe('a dictated number', () => {
  it.each([
    ['fr', 'zéro six douze trente-quatre cinquante-six soixante-dix-huit', '0 6 12 34 56 78'],
    ['fr', 'zéro six douze trente quatre cinquante six soixante dix huit', '0 6 12 34 56 78'],
    ['fr', 'quatre-vingt-dix-neuf quatre-vingts', '99 80'],
    ['fr', 'septante-cinq nonante huitante et', '75 90 80 et'],
    ['fr', 'vingt et un trois cent douze', '21 312'],
    ['de', 'null eins sieben eins zwölf vierunddreißig', '0 1 7 1 12 34'],
    ['de', 'dreihundertzwölf vier und dreißig hundertfünf', '312 34 105'],
    ['nl', 'nul zes twaalf vierendertig tweeëntwintig', '0 6 12 34 22'],
    ['nl', 'driehonderdtwaalf vier en dertig', '312 34'],
    ['es', 'seiscientos doce treinta y cuatro veintidós', '612 34 22'],
    ['es', 'seiscientos uno cero uno', '601 0 1'],
    ['it', 'trecentoquarantasette ventotto trentatré', '347 28 33'],
    ['it', 'centotto duecentottanta trenta quattro', '108 280 34'],
    ['pt', 'vinte e um meia dezasseis dezesseis', '21 6 16 16'],
    ['pt', 'novecentos e doze cento e cinco', '912 105'],
    ['en', 'two oh six twelve thirty-four', '2 0 6 12 34'],
    ['en', 'eight hundred five five five', '800 5 5 5'],
    ['en', 'one hundred and five', '105'],
    ['en', 'double five triple oh', '55 000'],
    ['en', 'five double', '5 ?'],
    ['en', 'room 204 on the 3rd floor', 'room 204 on the 3rd floor'],
    ['en', 'two thousand', '2 thousand'],
    ['ja', '三四', '34'],
  ])('in %s: %s → %s', (language, text, digits) => {
    expect(read(text, language)).toBe(digits);
  });

  it.each(LANGUAGES)('in %s: every number up to 999 has its own digits', (language) => {
    for (let value = 10; value < 1_000; value++)
      for (const words of cardinalWords(value, language)) {
        // Where "and" is usual, a unit without it is a digit of its own.
        const isSplit = language === 'en' && value > 100 && value % 100 < 10 && value % 100 > 0;
        const digits = isSplit ? `${Math.floor(value / 100)}00 ${value % 10}` : String(value);
        expect([words, read(words, language)]).toEqual([words, digits]);
      }
  });

  it.each(LANGUAGES)(
    'in %s: pairs in a row are never more digits than were said, nor other pairs',
    (language) => {
      const pair = fc.integer({ min: 10, max: 99 });
      fc.assert(
        fc.property(fc.array(pair, { minLength: 1, maxLength: 5 }), (pairs) => {
          const said = pairs.map((value) => cardinalWords(value, language)[0] ?? '');
          // A pause is a comma in most transcripts, and changes nothing.
          for (const text of [said.join(' '), said.join(', ')]) {
            const digits = read(text, language).replaceAll(' ', '');
            expect(digits.length).toBeLessThanOrEqual(2 * pairs.length);
            if (pairs.every((value) => value % 10 !== 0)) expect(digits).toBe(pairs.join(''));
          }
        }),
        { seed: 17, numRuns: 300 },
      );
    },
  );

  it.each(LANGUAGES)('in %s: words that are no numbers stay as they are', (language) => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom(...'abcdefgh'), minLength: 7, maxLength: 9 })),
        (words) => {
          expect(numberGroups(words, language).map((group) => group.words)).toEqual(words);
          expect(numberGroups(words, language).every(({ digits }) => digits === '')).toBe(true);
        },
      ),
      { seed: 17, numRuns: 200 },
    );
  });
});
