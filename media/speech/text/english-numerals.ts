/** English numerals as words, for voices that know only the words of their lexicon. */
import { toCardinal } from 'n2words/en-US';

/** A longer number is read digit by digit, like a telephone number. */
const MAX_DIGITS = 6;
/** “1,234” with up to five groups, or plain digits; each perhaps with a fraction. */
const NUMERAL = /(?:\d{1,3}(?:,\d{3}){1,4}(?!,?\d)|\d+)(?:\.\d+)?/g;

/** Writes out every numeral: “3.5” becomes “three point five”, and a code such as “0042” its digits. */
export function spellNumerals(text: string): string {
  return text.replace(NUMERAL, (numeral) => {
    const [whole = '', fraction] = numeral.split('.');
    const isCode = whole.length > MAX_DIGITS && !whole.includes(',');
    const words =
      isCode || /^0\d/.test(whole) ? digitsOf(whole) : toCardinal(Number(whole.replaceAll(',', '')));
    return fraction === undefined ? words : `${words} point ${digitsOf(fraction)}`;
  });
}

function digitsOf(digits: string): string {
  return [...digits.replaceAll(',', '')].map((digit) => toCardinal(Number(digit))).join(' ');
}
