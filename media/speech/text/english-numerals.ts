/** English numerals as words, for voices that know only the words of their lexicon. */
import { toCardinal } from 'n2words/en-US';

/** A longer number is read digit by digit, like a telephone number. */
const MAX_DIGITS = 6;

/** Writes out every numeral: “3.5” becomes “three point five”. */
export function spellNumerals(text: string): string {
  return text.replace(/\d+(?:\.\d+)?/g, (numeral) => {
    const [whole = '', fraction] = numeral.split('.');
    const words = whole.length > MAX_DIGITS ? digitsOf(whole) : toCardinal(Number(whole));
    return fraction === undefined ? words : `${words} point ${digitsOf(fraction)}`;
  });
}

function digitsOf(digits: string): string {
  return [...digits].map((digit) => toCardinal(Number(digit))).join(' ');
}
