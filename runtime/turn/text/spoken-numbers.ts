/**
 * Numbers as callers dictate them, read into digits: "zéro six douze trente-quatre" is 061234, "seiscientos
 * doce" 612, "double five" 55. Of several readings the shortest counts ("soixante douze" is 72, not 60 and
 * 12), so that a number is never taken for longer than it is. Linear in the words.
 */
import { digitOf, isNumeral, repeatsAfter } from './digit-words.ts';
import { isFiller } from './grammar-cues.ts';
import { countsOf, foldedWord } from './number-counts.ts';

/** One number, or one other word, of a text. */
export interface NumberGroup {
  /** `?` is a digit that was announced and not named, as after "double". Empty for other words. */
  readonly digits: string;
  /** The words it was read from, joined by spaces. */
  readonly words: string;
  /** A sound between words that says nothing. */
  readonly isFiller: boolean;
  /** A number from ten in words, which is a count as often as a part of a longer number. */
  readonly isCount: boolean;
}

interface Reading {
  readonly digits: string;
  /** Words that were read. */
  readonly length: number;
}

interface Words {
  readonly written: readonly string[];
  /** The same without accents. */
  readonly folded: readonly string[];
  readonly language: string;
}

/** The numbers and other words of a text, in order; `tokens` are bare words in lower case. */
export function numberGroups(tokens: readonly string[], language: string): readonly NumberGroup[] {
  const written = tokens.flatMap(splitAtHyphens);
  const words: Words = { written, folded: written.map(foldedWord), language };
  const shortest = shortestReading(words);
  const groups: NumberGroup[] = [];
  let repeats = 0;
  for (let at = 0; at < written.length; ) {
    const { group, length } = shortest[at] ?? singleAt(words, at);
    at += length;
    const announced = group.digits === '' ? repeatsAfter(group.words) : 0;
    repeats += announced;
    if (announced > 0) continue;
    if (repeats > 0 && group.digits !== '') {
      groups.push({ ...group, digits: (group.digits[0] ?? '').repeat(repeats) + group.digits });
      repeats = 0;
      continue;
    }
    if (!group.isFiller) repeats = announce(groups, repeats);
    groups.push(group);
  }
  announce(groups, repeats);
  return groups;
}

/** Adds the digits that "double" has announced without naming them; returns how many are left. */
function announce(groups: NumberGroup[], repeats: number): number {
  if (repeats > 0) groups.push({ digits: '?'.repeat(repeats), words: '', isFiller: false, isCount: false });
  return 0;
}

/** "Trente-quatre" is two words; "555-1234" is one. */
function splitAtHyphens(token: string): readonly string[] {
  return token.includes('-') && !isNumeral(token) ? token.split('-').filter((part) => part !== '') : [token];
}

interface Step {
  readonly group: NumberGroup;
  /** Words that it takes. */
  readonly length: number;
}

/** A word that is read as a number is worth more digits than are ever dictated. */
const OTHER_WORD_COST = 1_000;

/**
 * From each word, the first step of the reading with the fewest other words, and then the fewest digits; of
 * equal ones that of more words.
 */
function shortestReading(words: Words): readonly Step[] {
  const count = words.written.length;
  const costFrom = new Array<number>(count + 1).fill(0);
  const steps = new Array<Step>(count);
  for (let at = count - 1; at >= 0; at--) {
    let best = singleAt(words, at);
    let least = (best.group.digits.length || OTHER_WORD_COST) + (costFrom[at + 1] ?? 0);
    for (const { digits, length } of countsAt(words, at)) {
      const cost = digits.length + (costFrom[at + length] ?? 0);
      if (cost > least || (cost === least && length < best.length)) continue;
      const said = words.written.slice(at, at + length).join(' ');
      best = { length, group: { digits, words: said, isFiller: false, isCount: true } };
      least = cost;
    }
    steps[at] = best;
    costFrom[at] = least;
  }
  return steps;
}

function singleAt({ language, written }: Words, at: number): Step {
  const word = written[at] ?? '';
  const digits = writtenDigits(word, language);
  return {
    length: 1,
    group: { digits, words: word, isFiller: digits === '' && isFiller(word), isCount: false },
  };
}

/** All numbers from ten that begin at a word. */
function countsAt(words: Words, at: number): readonly Reading[] {
  const { firstWords, hundreds, tens } = countsOf(words.language);
  if (!firstWords.has(words.folded[at] ?? '')) return compoundAt(words, at);
  return [
    ...phrasesAt(words, at, tens),
    ...phrasesAt(words, at, hundreds).flatMap((hundred) => withRest(words, at, hundred)),
  ];
}

/**
 * "Trois cent", "trois cent douze", "one hundred and five". Where "and" is said before a unit, a unit without
 * it is a digit of its own: "eight hundred five five five".
 */
function withRest(words: Words, at: number, hundred: Reading): readonly Reading[] {
  const { joins, tens, units } = countsOf(words.language);
  const next = at + hundred.length;
  const joinWords = joins.has(words.folded[next] ?? '') ? 1 : 0;
  const unit = joins.size === joinWords ? units.get(words.folded[next + joinWords] ?? '') : undefined;
  const rests = [
    ...phrasesAt(words, next + joinWords, tens),
    ...(unit === undefined ? [] : [{ digits: unit, length: 1 }]),
  ];
  const first = hundred.digits[0] ?? '';
  const whole = rests.map(({ digits, length }) => ({
    digits: first + digits.padStart(2, '0'),
    length: hundred.length + joinWords + length,
  }));
  return [hundred, ...whole];
}

/** The phrases of `phrases` that begin at a word. */
function phrasesAt(
  { folded, language }: Words,
  at: number,
  phrases: ReadonlyMap<string, string>,
): readonly Reading[] {
  const found: Reading[] = [];
  for (let length = Math.min(countsOf(language).longest, folded.length - at); length > 0; length--) {
    const digits = phrases.get(folded.slice(at, at + length).join(' '));
    if (digits !== undefined) found.push({ digits, length });
  }
  return found;
}

/** Hundreds in one word: "dreihundertzwölf", "trecentoquarantasette". */
function compoundAt({ folded, language }: Words, at: number): readonly Reading[] {
  const { stems, tens, units } = countsOf(language);
  const word = folded[at] ?? '';
  for (const [stem, hundred] of stems) {
    if (!word.startsWith(stem)) continue;
    const rest = word.slice(stem.length);
    const below = tens.get(rest) ?? units.get(rest);
    if (below !== undefined) return [{ digits: hundred + below.padStart(2, '0'), length: 1 }];
  }
  return [];
}

/** The digits of a digit word, of several written as one word, or of a numeral, with its plus; else empty. */
function writtenDigits(word: string, language: string): string {
  const digit = digitOf(word, language);
  if (digit !== null) return digit;
  if (isNumeral(word)) return word.replace(/[^\d+]/g, '');
  const letters = [...word].map((letter) => digitOf(letter, language));
  return letters.length < 2 || letters.includes(null) ? '' : letters.join('');
}
