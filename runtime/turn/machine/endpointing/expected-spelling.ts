/**
 * Is a name spelled to its end? Known only for a name that was said before, by the caller ("Smith, S M I T
 * H", or a turn earlier) or by the agent ("how do you spell Smith?").
 */
import type { QuestionTexts } from '../../text/languages/language-texts.ts';
import { namesIn, type SpelledWord, spelledLetters } from '../../text/spelled-letters.ts';
import { type Fit, GOES_ON, withoutCourtesy } from './answer-fit.ts';

/** Fewer letters are the beginning of a name, known or not. */
const FEW_LETTERS = 3;

/** `names`: those that were said before the caller's turn, without accents. */
export function spellingFit(
  tokens: readonly string[],
  names: readonly string[],
  texts: QuestionTexts,
): Fit | null {
  const { before, letters } = lettersAtEnd(spelledLetters(withoutCourtesy(tokens, texts), texts.asIn));
  if (letters === '') return null;
  const known = new Set([...names, ...namesIn(before)]);
  if (known.has(letters)) return { goesOn: GOES_ON.spelled, note: 'expected a spelled name, has it' };
  const has = (count: string) => ({ goesOn: null, note: `expected a spelled name, has ${count}` });
  if (letters.length >= FEW_LETTERS) {
    const whole = [...known].find((name) => name.startsWith(letters));
    return whole === undefined ? null : has(`${letters.length} of ${whole.length} letters`);
  }
  return before.length > 0 ? null : has(letters.length === 1 ? 'one letter' : 'two letters');
}

/** True if the letters at the end spell the words before them. */
export function spellsNameBefore(tokens: readonly string[]): boolean {
  const { before, letters } = lettersAtEnd(spelledLetters(tokens, ''));
  return letters.length >= FEW_LETTERS && namesIn(before).has(letters);
}

function lettersAtEnd(words: readonly SpelledWord[]): {
  readonly before: readonly string[];
  readonly letters: string;
} {
  const first = words.findLastIndex(({ letters }) => letters === '') + 1;
  return {
    before: words.slice(0, first).map(({ word }) => word),
    letters: words
      .slice(first)
      .map(({ letters }) => letters)
      .join(''),
  };
}
