/**
 * Replaces private data in the words of a caller: numbers, e-mail addresses and names that are recognisable
 * by their form or by the English words before them. Words that only their meaning makes private stay: a name
 * said by itself, a street, an illness. Everything is linear in the texts.
 */

const DIGIT_WORDS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
const NUMBER_WORDS = new Set([
  ...DIGIT_WORDS,
  ...['o', 'oh', 'double', 'triple', 'ten', 'eleven', 'twelve', 'thirteen', 'fourteen', 'fifteen', 'sixteen'],
  ...['seventeen', 'eighteen', 'nineteen', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy'],
  ...['eighty', 'ninety', 'hundred', 'thousand'],
]);
/** Words between the digits of one number. */
const NUMBER_LINKS = new Set('and dash hyphen minus slash point space uh um er'.split(' '));
/** Fewer digits or number words in a row are an amount, a time or a choice of a menu, and stay. */
const FEWEST_DIGITS = 4;
/** Keys pressed in one go that are part of a longer number; a choice of a menu is a single key. */
const FEWEST_KEYS_OF_PART = 2;
/** Fewer single letters in a row are words or initials. */
const FEWEST_LETTERS = 3;
/** Words between the parts of an address, and how many each side of its “at” has at most. */
const ADDRESS_LINKS = new Set(['dot', 'underscore', 'dash', 'hyphen', 'minus', 'plus']);
const MOST_ADDRESS_LINKS = 4;
const DOMAIN = /^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*\.\p{L}{2,}$/u;
const WORD_SIGN = /[\p{L}\p{N}\p{M}]/u;
/** The words in place of private ones. */
const NAME = ['Alex', 'Miller'];
const LETTERS = 'ALEX';
const SPOKEN_ADDRESS = ['alex', 'at', 'example', 'dot', 'com'];
const WRITTEN_ADDRESS = 'alex@example.com';
/** Words before a name of the speaker. */
const NAME_CUES = [
  ['name', 'is'],
  ["name's"],
  ['surname', 'is'],
  ['am', 'called'],
  ["i'm", 'called'],
  ['this', 'is'],
  ['mister'],
  ['miss'],
  ['mrs'],
  ['mr'],
  ['ms'],
  ['doctor'],
  ['dr'],
] as const;
/** Words before a name, if the word after them begins with a capital. */
const WEAK_NAME_CUES = [["i'm"], ['i', 'am']] as const;
/** Words of a name; those after the second begin with a capital, as other words may follow a name. */
const MOST_NAME_WORDS = 4;
const MOST_PLAIN_NAME_WORDS = 2;
/** Words after a cue that begin no name, such as in “this is about my order”. */
const NO_NAME = new Set(
  (
    'a about all an and annoying at bad because but by correct fine for from going good great he her ' +
    'here his how i important in is it just me my new nice no not of ok okay on or our please really ' +
    'regarding ridiculous right she so spelled strange terrible that the their there they to too true ' +
    'urgent very we what when where which who why with wrong yes your'
  ).split(' '),
);

/** Number of replacements of each kind. */
export interface Replaced {
  readonly numbers: number;
  readonly email_addresses: number;
  readonly names: number;
}

/** Texts with private data replaced. */
export interface Replacement {
  readonly texts: readonly string[];
  readonly replaced: Replaced;
}

/**
 * Replaces private data in texts that were said one after another: a number, a name or an address may begin
 * in one and end in the next, as callers pause between groups of digits. A text with words keeps some.
 */
export function replacePrivate(texts: readonly string[]): Replacement {
  const { words, owners } = wordsOf(texts);
  const counts = { numbers: 0, email_addresses: 0, names: 0 };
  const out: string[][] = texts.map(() => []);
  for (let at = 0; at < words.length; ) {
    const found = addressAt(words, at) ?? lettersAt(words, at) ?? numberAt(words, at) ?? nameAt(words, at);
    const length = found?.length ?? 1;
    for (const [index, word] of (found?.words ?? [words[at]?.said ?? '']).entries())
      out[owners[at + Math.min(index, length - 1)] ?? 0]?.push(word);
    if (found) counts[found.kind] += 1;
    at += length;
  }
  return {
    // Nothing is left of a text whose words were all the end of an address that begins before it.
    texts: out.map((left, index) => left.join(' ') || (texts[index]?.trim() ? (NAME[0] ?? '') : '')),
    replaced: counts,
  };
}

/** A word as it was said, and in lower case without punctuation at its ends. */
interface Word {
  readonly said: string;
  readonly plain: string;
}

/** All words, and the text of each. */
function wordsOf(texts: readonly string[]): { readonly words: Word[]; readonly owners: number[] } {
  const [words, owners]: [Word[], number[]] = [[], []];
  for (const [owner, text] of texts.entries())
    for (const said of text.split(/\s+/)) {
      if (said === '') continue;
      words.push({ said, plain: plain(said) });
      owners.push(owner);
    }
  return { words, owners };
}

/**
 * Keys that may be a number of a card, an account or a PIN, replaced by others of the same length; in entries
 * that follow each other without an answer between them. `numbers`: how many were replaced.
 */
export function replaceKeys(entries: readonly string[]): {
  readonly entries: readonly string[];
  readonly numbers: number;
} {
  const all = entries.reduce((sum, keys) => sum + digitsOf(keys), 0);
  const isPart = (keys: string) =>
    digitsOf(keys) >= FEWEST_DIGITS || (all >= FEWEST_DIGITS && digitsOf(keys) >= FEWEST_KEYS_OF_PART);
  let next = 0;
  return {
    entries: entries.map((keys) => (isPart(keys) ? keys.replace(/\d/g, () => String(++next % 10)) : keys)),
    numbers: entries.some(isPart) ? 1 : 0,
  };
}

function digitsOf(text: string): number {
  return text.match(/\p{Nd}/gu)?.length ?? 0;
}

interface Found {
  readonly kind: keyof Replaced;
  /** Number of words replaced. */
  readonly length: number;
  readonly words: readonly string[];
}

function plain(word: string): string {
  const text = word.toLowerCase().replaceAll('’', "'");
  const first = text.search(WORD_SIGN);
  if (first < 0) return '';
  let end = text.length;
  for (let sign = lastSign(text, end); !WORD_SIGN.test(sign); sign = lastSign(text, end)) end -= sign.length;
  return text.slice(first, end);
}

/** The code point that ends there. */
function lastSign(text: string, end: number): string {
  const pair = text.slice(Math.max(0, end - 2), end);
  return String.fromCodePoint(pair.codePointAt(0) ?? 0) === pair ? pair : pair.slice(-1);
}

/** Written with an `@`, or spoken as “anna at example dot com”. */
function addressAt(words: readonly Word[], at: number): Found | null {
  const isAt = (index: number) => words[index]?.said === '@' || words[index]?.plain === 'at';
  let end = at + 1 + linkedLength(words, at + 1, (word) => ADDRESS_LINKS.has(word));
  if (isAt(end) && words[end + 1] !== undefined) {
    end += 1;
    const length = domainLength(words, end);
    if (length > 0) return { kind: 'email_addresses', length: end + length - at, words: SPOKEN_ADDRESS };
  }
  if (!words[at]?.said.includes('@')) return null;
  return { kind: 'email_addresses', length: 1, words: [WRITTEN_ADDRESS] };
}

/** 0 if no domain begins there. */
function domainLength(words: readonly Word[], at: number): number {
  if (DOMAIN.test(words[at]?.plain ?? '')) return 1;
  let length = 1 + linkedLength(words, at + 1, (word) => word !== 'dot' && ADDRESS_LINKS.has(word));
  if (words[at + length]?.plain !== 'dot') return 0;
  const before = length;
  while (words[at + length]?.plain === 'dot' && words[at + length + 1] !== undefined) length += 2;
  return length === before ? 0 : length;
}

/** Number of words in a run of links, each with the word after it. */
function linkedLength(words: readonly Word[], at: number, isLink: (word: string) => boolean): number {
  let length = 0;
  while (
    length < 2 * MOST_ADDRESS_LINKS &&
    isLink(words[at + length]?.plain ?? '') &&
    words[at + length + 1] !== undefined
  )
    length += 2;
  return length;
}

/** Letters that spell a name, apart or as “S-C-H”. */
function lettersAt(words: readonly Word[], at: number): Found | null {
  let [length, letters] = [0, 0];
  for (; /^\p{L}(?:[-.]\p{L})*$/u.test(words[at + length]?.plain ?? ''); length += 1)
    letters += words[at + length]?.said.match(/\p{L}/gu)?.length ?? 0;
  if (letters < FEWEST_LETTERS) return null;
  let next = 0;
  const replaced = words
    .slice(at, at + length)
    .map(({ said }) => said.replace(/\p{L}/gu, () => LETTERS[next++ % LETTERS.length] ?? ''));
  return { kind: 'names', length, words: replaced };
}

/** A run of digits, in figures or words: of the same length, so that it takes as long to say. */
function numberAt(words: readonly Word[], at: number): Found | null {
  let [length, digits] = [0, 0];
  for (let next = at; next < words.length; next += 1) {
    const count = digitsIn(words[next]);
    if (count > 0) [length, digits] = [next - at + 1, digits + count];
    else if (length === 0 || digitsIn(words[next + 1]) === 0 || !NUMBER_LINKS.has(words[next]?.plain ?? ''))
      break;
  }
  if (digits < FEWEST_DIGITS) return null;
  let next = 0;
  const replaced = words.slice(at, at + length).map((word) => {
    if (digitsIn(word) === 0) return word.said;
    return digitsOf(word.said) > 0
      ? word.said.replace(/\p{Nd}/gu, () => String(++next % 10))
      : word.said.replace(/\p{L}+/gu, () => DIGIT_WORDS[++next % 10] ?? '');
  });
  return { kind: 'numbers', length, words: replaced };
}

/** Figures, or words of a number such as “twenty-five”; a time of day such as 10:30 has none. */
function digitsIn(word: Word | undefined): number {
  const text = word?.plain ?? '';
  if (text.includes(':')) return 0;
  const figures = digitsOf(text);
  if (figures > 0) return figures;
  const parts = text.split('-');
  return parts.every((part) => NUMBER_WORDS.has(part)) ? parts.length : 0;
}

/** A cue and the name after it. */
function nameAt(words: readonly Word[], at: number): Found | null {
  const follows = (cue: readonly string[]) => cue.every((word, index) => words[at + index]?.plain === word);
  const weak = WEAK_NAME_CUES.find((cue) => follows(cue) && isCapital(words[at + cue.length]));
  const cue = NAME_CUES.find(follows) ?? weak;
  const names = cue ? nameLength(words, at + cue.length) : 0;
  if (!cue || names === 0) return null;
  return {
    kind: 'names',
    length: cue.length + names,
    words: [
      ...words.slice(at, at + cue.length).map(({ said }) => said),
      ...Array.from({ length: names }, (_, index) => NAME[index % NAME.length] ?? ''),
    ],
  };
}

function nameLength(words: readonly Word[], at: number): number {
  let names = 0;
  while (names < MOST_NAME_WORDS) {
    const word = words[at + names];
    if (!isNameWord(word) || (names >= MOST_PLAIN_NAME_WORDS && !isCapital(word))) break;
    names += 1;
    if (/[.,!?;]$/.test(word?.said ?? '')) break;
  }
  return names;
}

function isCapital(word: Word | undefined): boolean {
  return /^[^\p{L}\p{N}]{0,3}\p{Lu}/u.test(word?.said ?? '');
}

function isNameWord(word: Word | undefined): boolean {
  const text = word?.plain ?? '';
  return /^[\p{L}\p{M}'-]{2,}$/u.test(text) && !NO_NAME.has(text) && !NUMBER_WORDS.has(text);
}
