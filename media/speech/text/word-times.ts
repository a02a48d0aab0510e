/**
 * Locates each written word in synthesised speech, from the engine's timed phones. The engine does not report
 * which phones belong to which word, so letters and phones are aligned: the cheapest edit path between them
 * (a phone costs nothing against a letter that commonly spells it) assigns phones to words.
 */
import type { SpokenWord } from '../speech.ts';

/** A phone with its end, ms; `pau` is a pause. */
export interface TimedPhone {
  readonly name: string;
  readonly endMs: number;
}

interface Letter {
  readonly character: string;
  readonly word: number;
}

const DIGIT_NAMES = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
const VOWELS = 'aeiouy';

/** Letters that commonly spell each consonant phone of the CMU set; every other phone is a vowel. */
const SPELLINGS: Readonly<Record<string, string>> = {
  b: 'b',
  ch: 'ct',
  d: 'd',
  dh: 't',
  f: 'fp',
  g: 'gx',
  hh: 'hw',
  jh: 'jgd',
  k: 'ckqx',
  l: 'l',
  m: 'm',
  n: 'nk',
  ng: 'n',
  p: 'p',
  r: 'r',
  s: 'scxz',
  sh: 'sct',
  t: 'td',
  th: 't',
  v: 'vf',
  w: 'wuo',
  y: 'yu',
  z: 'zsx',
  zh: 'sgz',
};

const SILENT_LETTER_COST = 0.5;
const EXTRA_PHONE_COST = 0.6;
const MISMATCH_COST = 1.4;
const NEAR_COST = 0.4;

/** Times of the words of `text`, on the phones' time scale. Words without a letter or digit get none. */
export function alignWords(text: string, phones: readonly TimedPhone[]): SpokenWord[] {
  const words = [...text.matchAll(/\S+/g)].filter((match) => /[\p{L}\p{N}]/u.test(match[0]));
  const voiced = withStarts(phones).filter((phone) => phone.name !== 'pau');
  if (words.length === 0 || voiced.length === 0) return [];
  const letters = words.flatMap((match, word) => spell(match[0]).map((character) => ({ character, word })));
  const owners = assign(letters, voiced);
  return words.map((match, word) => {
    const first = owners.indexOf(word);
    const last = owners.lastIndexOf(word);
    // A word without phones is placed at the end of its predecessor.
    const before = owners.findLastIndex((owner) => owner < word);
    const fallbackMs = (before === -1 ? voiced[0]?.startMs : voiced[before]?.endMs) ?? 0;
    return {
      textStart: match.index,
      textEnd: match.index + match[0].length,
      startMs: voiced[first]?.startMs ?? fallbackMs,
      endMs: voiced[last]?.endMs ?? fallbackMs,
    };
  });
}

function withStarts(phones: readonly TimedPhone[]) {
  return phones.map((phone, index) => ({ ...phone, startMs: phones[index - 1]?.endMs ?? 0 }));
}

/** Letters as spoken: digits by their names. */
function spell(word: string): string[] {
  return [...word.toLowerCase()].flatMap((character) => {
    const digit = DIGIT_NAMES[Number.parseInt(character, 10)];
    return digit ? [...digit] : /[a-z]/.test(character) ? [character] : [];
  });
}

/** The word of each phone, by the cheapest monotonic alignment of letters and phones. */
function assign(letters: readonly Letter[], phones: readonly TimedPhone[]): number[] {
  const costs = alignmentCosts(letters, phones);
  const width = phones.length + 1;
  const at = (row: number, column: number) => costs[row * width + column] ?? Number.POSITIVE_INFINITY;
  const owners = new Array<number>(phones.length).fill(0);
  let row = letters.length;
  let column = phones.length;
  while (column > 0) {
    const here = at(row, column);
    if (row > 0 && here === at(row - 1, column - 1) + matchCost(letters[row - 1], phones[column - 1])) {
      owners[--column] = letters[--row]?.word ?? 0;
    } else if (row > 0 && here === at(row - 1, column) + SILENT_LETTER_COST) {
      row--;
    } else {
      // An extra phone belongs to the letter before it, or to the first word.
      owners[--column] = letters[Math.max(0, row - 1)]?.word ?? 0;
    }
  }
  return owners;
}

function alignmentCosts(letters: readonly Letter[], phones: readonly TimedPhone[]): Float64Array {
  const width = phones.length + 1;
  const costs = new Float64Array((letters.length + 1) * width);
  for (let row = 0; row <= letters.length; row++) {
    for (let column = 0; column < width; column++) {
      if (row === 0 || column === 0) {
        costs[row * width + column] = row * SILENT_LETTER_COST + column * EXTRA_PHONE_COST;
        continue;
      }
      const diagonal =
        (costs[(row - 1) * width + column - 1] ?? 0) + matchCost(letters[row - 1], phones[column - 1]);
      const silent = (costs[(row - 1) * width + column] ?? 0) + SILENT_LETTER_COST;
      const extra = (costs[row * width + column - 1] ?? 0) + EXTRA_PHONE_COST;
      costs[row * width + column] = Math.min(diagonal, silent, extra);
    }
  }
  return costs;
}

function matchCost(letter: Letter | undefined, phone: TimedPhone | undefined): number {
  if (!letter || !phone) return MISMATCH_COST;
  const spellings = SPELLINGS[phone.name];
  const isVowelLetter = VOWELS.includes(letter.character);
  if (spellings === undefined)
    return isVowelLetter ? 0 : letter.character === 'r' && phone.name === 'er' ? NEAR_COST : MISMATCH_COST;
  return spellings.startsWith(letter.character)
    ? 0
    : spellings.includes(letter.character)
      ? NEAR_COST
      : MISMATCH_COST;
}
