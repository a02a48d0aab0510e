/** Names spelled letter by letter: "S M I T H", "S as in Sam", "double L". Linear in the words. */
import { repeatsAfter } from './digit-words.ts';
import { foldedWord } from './number-counts.ts';

/** A word of a text, and the letters that it spells; none for other words. */
export interface SpelledWord {
  readonly word: string;
  readonly letters: string;
}

/** One letter; a syllable or an ideogram is a word. */
const LETTER = /^(?=\p{L}$)[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]$/u;
/** Names that are compared with what was spelled have so many words at most: "van der Berg". */
const NAME_WORDS = 3;

/**
 * The words of a text in order; "S as in Sam" is one, with one letter. `tokens` are bare words in lower case,
 * `asIn` the phrases between a letter and its example, separated by `|`.
 */
export function spelledLetters(tokens: readonly string[], asIn: string): readonly SpelledWord[] {
  const spelled: SpelledWord[] = [];
  let repeats = 0;
  for (let at = 0; at < tokens.length; at++) {
    const word = tokens[at] ?? '';
    if (LETTER.test(word)) {
      spelled.push({ word, letters: foldedWord(word).repeat(1 + repeats) });
      at += exampleAt(tokens, at + 1, word, asIn);
      repeats = 0;
    } else if (repeatsAfter(word) > 0 && LETTER.test(tokens[at + 1] ?? '')) repeats = repeatsAfter(word);
    else spelled.push({ word, letters: '' });
  }
  return spelled;
}

/** Words of "as in Sam" after a letter; 0 without them. */
function exampleAt(tokens: readonly string[], at: number, letter: string, asIn: string): number {
  for (const phrase of asIn.split('|')) {
    const words = phrase.split(' ');
    const example = tokens[at + words.length] ?? '';
    const isExample = example.length > 1 && foldedWord(example).startsWith(foldedWord(letter));
    if (isExample && words.every((word, index) => tokens[at + index] === word)) return words.length + 1;
  }
  return 0;
}

/** The names that a text may contain: its words, and two or three in a row, without accents. */
export function namesIn(words: readonly string[]): ReadonlySet<string> {
  const parts = words.map((word) => foldedWord(word.toLowerCase()).replace(/[^\p{L}]/gu, ''));
  const names = new Set<string>();
  for (let from = 0; from < parts.length; from++)
    for (let count = 1; count <= NAME_WORDS; count++) {
      const name = parts.slice(from, from + count).join('');
      if (name.length > 1) names.add(name);
    }
  return names;
}
