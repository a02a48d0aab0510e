/** Months, and years in words from 1900 on, in the languages in which dictated numbers are read. */
import { memoised } from '#base/memoised.ts';
import { foldedWord } from './number-counts.ts';
import { cardinalWords } from './number-words.ts';

/** The years that callers were born in, and those that they book for. */
const [FIRST_YEAR, LAST_YEAR] = [1_900, 2_039];

/** The names of the months in lower case, with and without accents. */
export const monthsOf = memoised((language: string): ReadonlySet<string> => {
  const format = new Intl.DateTimeFormat(language, { month: 'long', timeZone: 'UTC' });
  const names = Array.from({ length: 12 }, (_, month) => format.format(Date.UTC(2_000, month)).toLowerCase());
  return new Set([...names, ...names.map(foldedWord)]);
});

/** The year in words that the words end in: "nineteen eighty five", "dos mil cinco"; null without one. */
export function yearAtEnd(tokens: readonly string[], language: string): number | null {
  const years = yearsOf(language);
  const words = tokens.flatMap((token) => token.split('-'));
  // Spaces do not count: recognisers write "millenovecento ottantacinque" in one, two or three words.
  for (let from = Math.max(0, words.length - MOST_WORDS); from < words.length; from++) {
    const year = years.get(joined(words.slice(from).join(' ')));
    if (year !== undefined) return year;
  }
  return null;
}

/** "Mil novecentos e noventa e cinco", "deux mille vingt et un". */
const MOST_WORDS = 8;

const yearsOf = memoised((language: string): ReadonlyMap<string, number> => {
  const years = new Map<string, number>();
  for (let year = FIRST_YEAR; year <= LAST_YEAR; year++)
    for (const words of yearWords(year, language)) years.set(joined(words), year);
  return years;
});

function yearWords(year: number, language: string): readonly string[] {
  const [century, rest] = [Math.floor(year / 100), year % 100];
  const whole = cardinalWords(year, language);
  const hundreds = HUNDREDS[language];
  if (hundreds === undefined) return whole;
  const [centuries = ''] = cardinalWords(century, language);
  const [below = ''] = rest === 0 ? [''] : cardinalWords(rest, language);
  const inHundreds = `${centuries} ${hundreds.word} ${below}`;
  const asPair = rest === 0 ? [] : [`${centuries} ${rest < 10 ? `${hundreds.oh} ` : ''}${below}`];
  const withAnd = whole.map((words) => words.replace(/thousand (?=[a-z])/, 'thousand and '));
  return [...whole, ...withAnd, inHundreds, ...asPair];
}

/** Where years are said in hundreds and pairs: "neunzehnhundertfünf", "nineteen oh five". */
const HUNDREDS: Readonly<Record<string, { readonly word: string; readonly oh: string }>> = {
  en: { word: 'hundred', oh: 'oh' },
  de: { word: 'hundert', oh: 'null' },
  nl: { word: 'honderd', oh: 'nul' },
  fr: { word: 'cent', oh: 'zero' },
};

/** Without spaces, and without the elision of "cento ottanta". */
function joined(words: string): string {
  const written = words.split(/[ -]/).map(foldedWord).join('');
  return written.replace(/cento?(?=ott)/, 'cento');
}
