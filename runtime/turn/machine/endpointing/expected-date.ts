/**
 * How complete are the caller's words for a date of birth? In numerals as in words: "March 5th, 1985", "le
 * cinq mars mille neuf cent quatre-vingt-cinq", "fünfter März fünfundachtzig".
 */
import { monthsOf, yearAtEnd } from '../../text/spoken-dates.ts';
import { numberGroups } from '../../text/spoken-numbers.ts';
import { type Fit, GOES_ON, SHORT_ANSWER_WORDS } from './answer-fit.ts';

/** A higher number is no day. */
const LAST_DAY = 31;
/** "On the fifth of March, I think" has fewer words. */
const DATE_WORDS = 8;

/** "May" is a verb before these. */
const AFTER_VERB = new Set('i we you he she they it be have'.split(' '));

const HAS_YEAR = 'expected a date of birth, has it';
const HAS_NO_YEAR: Fit = { goesOn: null, note: 'expected a date of birth, has no year' };

/** `tokens` are bare words in lower case. */
export function birthFit(tokens: readonly string[], language: string): Fit | null {
  const inNumerals = numeralDate(tokens);
  if (inNumerals !== null) return inNumerals;
  const months = monthsOf(language);
  const month = tokens.findLastIndex(
    (token, index) => months.has(token) && !AFTER_VERB.has(tokens[index + 1] ?? ''),
  );
  if (month < 0 || tokens.length > 2 * DATE_WORDS) return null;
  const year = yearAtEnd(tokens.slice(month + 1), language);
  if (year !== null) return mayHaveUnits(year) ? null : { goesOn: GOES_ON.date, note: HAS_YEAR };
  const numbers = numberGroups([...tokens.slice(0, month), '|', ...tokens.slice(month + 1)], language)
    .map(({ digits }) => digits)
    .filter((digits) => digits !== '');
  const isDayAtMost = numbers.length < 2 && numbers.every((digits) => Number(digits) <= LAST_DAY);
  return isDayAtMost && tokens.length <= DATE_WORDS ? HAS_NO_YEAR : null;
}

/** "Nineteen eighty" and "mil novecientos" are years, and beginnings of others. */
function mayHaveUnits(year: number): boolean {
  return year % 10 === 0 && year % 100 !== 10;
}

/** "3/5/1985" and "March 5th 1985"; null without numerals, and for years of two digits. */
function numeralDate(tokens: readonly string[]): Fit | null {
  const numerals = tokens.flatMap((token) => token.match(/\d+/g) ?? []);
  const digits = numerals.join('').length;
  if (numerals.length === 0) return null;
  const endsInYear = /(19|20)\d\d$/.test(tokens.at(-1) ?? '');
  if (endsInYear && digits > 4) return { goesOn: GOES_ON.number, note: HAS_YEAR };
  // "March 5 85" and "5.3.85" have one of two digits.
  const hasPlaceForYear = numerals.length > 2 || (numerals.length === 2 && tokens.length > 2);
  return !endsInYear && !hasPlaceForYear && digits <= 4 && tokens.length <= SHORT_ANSWER_WORDS
    ? HAS_NO_YEAR
    : null;
}
