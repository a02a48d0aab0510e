/**
 * Replaces private data in what a caller said: numbers, addresses of e-mail and names that are recognisable
 * by their form or by the words before them. What only its meaning makes private stays: a name said by
 * itself, a street, a date, an illness. Everything is linear in the text.
 */

const DIGIT_WORDS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
const NUMBER_WORDS = new Set([
  ...DIGIT_WORDS,
  ...['oh', 'double', 'triple', 'ten', 'eleven', 'twelve', 'thirteen', 'fourteen', 'fifteen', 'sixteen'],
  ...['seventeen', 'eighteen', 'nineteen', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy'],
  ...['eighty', 'ninety', 'hundred', 'thousand'],
]);
/** Fewer digits or number words in a row are an amount, a time or a choice of a menu. */
const FEWEST_DIGITS = 4;
/** Fewer single letters in a row are words or initials. */
const FEWEST_LETTERS = 3;
/** The words in place of private ones. */
const NAME = 'Alex Miller';
const LETTERS = 'ALEX';
const SPOKEN_ADDRESS = 'alex at example dot com';
const WRITTEN_ADDRESS = 'alex@example.com';
/** What introduces a name of the speaker, and how many words the name has at most. */
const NAME_CUES = [
  ['my', 'name', 'is'],
  ['my', "name's"],
  ['the', 'name', 'is'],
  ['i', 'am', 'called'],
  ["i'm", 'called'],
  ['this', 'is'],
  ['mister'],
  ['mrs'],
  ['mr'],
  ['ms'],
] as const;
const MOST_NAME_WORDS = 2;
/** Words after a cue that begin no name, such as in “this is about my order”. */
const NO_NAME = new Set(
  (
    'annoying bad correct fine important new nice no ridiculous right strange terrible true wrong yes ' +
    'a about all an and at because but by for from going good great in it just me my not of ok okay on or ' +
    'our please really regarding so spelled that the to too urgent very what when where which who why with ' +
    'your'
  ).split(' '),
);

/** What was replaced: how many of each kind. */
export interface Replaced {
  readonly numbers: number;
  readonly email_addresses: number;
  readonly names: number;
}

/** A text without what was replaced. */
export interface Replacement {
  readonly text: string;
  readonly replaced: Replaced;
}

/** Replaces private data in a text that was said. */
export function replacePrivate(text: string): Replacement {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const counts = { numbers: 0, email_addresses: 0, names: 0 };
  const out: string[] = [];
  for (let at = 0; at < words.length; ) {
    const found = addressAt(words, at) ?? lettersAt(words, at) ?? numberAt(words, at) ?? nameAt(words, at);
    if (found) {
      counts[found.kind] += 1;
      out.push(...found.words);
      at += found.length;
    } else out.push(words[at++] ?? '');
  }
  return { text: out.join(' '), replaced: counts };
}

/** Keys that may be a number of a card, an account or a PIN, replaced by others of the same length. */
export function replaceKeys(digits: string): { readonly digits: string; readonly isReplaced: boolean } {
  if (digits.replace(/\D/g, '').length < FEWEST_DIGITS) return { digits, isReplaced: false };
  return { digits: digits.replace(/\d/g, (_, index: number) => String((index + 1) % 10)), isReplaced: true };
}

interface Found {
  readonly kind: keyof Replaced;
  /** Words that it takes the place of. */
  readonly length: number;
  readonly words: readonly string[];
}

/** Lower case, without punctuation at its ends. */
function plain(word: string | undefined): string {
  return (word ?? '')
    .toLowerCase()
    .replace(/^[^\p{L}\p{N}]+/u, '')
    .replace(/[^\p{L}\p{N}]$/u, '');
}

/** Written with an `@`, or spoken as “anna at example dot com”. */
function addressAt(words: readonly string[], at: number): Found | null {
  const word = words[at] ?? '';
  if (word.includes('@')) return { kind: 'email_addresses', length: 1, words: [WRITTEN_ADDRESS] };
  if (plain(words[at + 1]) !== 'at' || plain(words[at + 3]) !== 'dot' || words[at + 4] === undefined)
    return null;
  let length = 5;
  while (plain(words[at + length]) === 'dot' && words[at + length + 1] !== undefined) length += 2;
  return { kind: 'email_addresses', length, words: SPOKEN_ADDRESS.split(' ') };
}

/** Letters that spell a name. */
function lettersAt(words: readonly string[], at: number): Found | null {
  let length = 0;
  while (/^\p{L}$/u.test(plain(words[at + length]))) length += 1;
  if (length < FEWEST_LETTERS) return null;
  const letters = Array.from({ length }, (_, index) => LETTERS[index % LETTERS.length] ?? '');
  return { kind: 'names', length, words: letters };
}

/** A run of digits, in figures or words: of the same length, so that it takes as long to say. */
function numberAt(words: readonly string[], at: number): Found | null {
  let [length, digits] = [0, 0];
  for (; at + length < words.length; length += 1) {
    const word = plain(words[at + length]);
    if (NUMBER_WORDS.has(word)) digits += 1;
    else if (/^[\d().+-]+$/.test(word) && /\d/.test(word)) digits += word.replace(/\D/g, '').length;
    else break;
  }
  if (digits < FEWEST_DIGITS) return null;
  let next = 0;
  const replaced = words
    .slice(at, at + length)
    .map((word) =>
      /\d/.test(word)
        ? word.replace(/\d/g, () => String(++next % 10))
        : word.replace(/[\p{L}]+/u, () => DIGIT_WORDS[++next % 10] ?? ''),
    );
  return { kind: 'numbers', length, words: replaced };
}

/** A cue and the name after it. */
function nameAt(words: readonly string[], at: number): Found | null {
  for (const cue of NAME_CUES) {
    if (!cue.every((word, index) => plain(words[at + index]).replace('’', "'") === word)) continue;
    let names = 0;
    while (names < MOST_NAME_WORDS && isNameWord(words[at + cue.length + names])) {
      names += 1;
      if (/[.,!?;]$/.test(words[at + cue.length + names - 1] ?? '')) break;
    }
    if (names === 0) continue;
    const kept = words.slice(at, at + cue.length);
    return {
      kind: 'names',
      length: cue.length + names,
      words: [...kept, ...NAME.split(' ').slice(0, names)],
    };
  }
  return null;
}

function isNameWord(word: string | undefined): boolean {
  const text = plain(word);
  return /^[\p{L}'’-]{2,}$/u.test(text) && !NO_NAME.has(text) && !NUMBER_WORDS.has(text);
}
