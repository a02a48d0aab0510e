/** How complete are the caller's words for a number or a code that the agent asked for? Linear in them. */
import { lengthsBy } from '../../text/expectation.ts';
import type { QuestionTexts } from '../../text/languages/language-texts.ts';
import { symbolsFor } from '../../text/phrases.ts';
import { spelledLetters } from '../../text/spelled-letters.ts';
import { type NumberGroup, numberGroups } from '../../text/spoken-numbers.ts';
import { announcesAnswer, type Fit, GOES_ON, USUALLY_GOES_ON, withoutCourtesy } from './answer-fit.ts';

/** A number of digits. `lengths` null: those of a phone number with its first digits. */
export function numberFit(
  tokens: readonly string[],
  lengths: readonly number[] | null,
  texts: QuestionTexts,
  language: string,
): Fit | null {
  const groups = numberGroups(withoutCourtesy(tokens, texts), language);
  const digits = dictatedDigits(groups, language);
  if (digits === '' || digits.includes('+') || digits.startsWith('00')) return null;
  const whole = lengths ?? phoneLengths(digits, texts);
  const [least, most] = [whole[0], whole.at(-1)];
  if (least === undefined || most === undefined) return null;
  const spoken = [...digits].findLastIndex((digit) => digit !== '?') + 1;
  const note = `expected ${range(least, most)} digits, has ${spoken}`;
  // "Double" announces a digit.
  if (digits.endsWith('?')) return { goesOn: null, note };
  // With other digits before them, these may correct, or be another number.
  const all = groups.reduce((sum, group) => sum + group.digits.length, 0);
  if (all === digits.length && groups.at(-1)?.isFiller === false) {
    if (all === most) return { goesOn: GOES_ON.number, note };
    // The first length of a phone number is only the shortest of all.
    const possible = lengths ?? whole.slice(1);
    if (possible.includes(all)) return { goesOn: USUALLY_GOES_ON, note };
  }
  // "I have one", "room 204" and "the one ending in 4567" begin nothing.
  return all < least && isDictated(groups, texts) ? { goesOn: null, note } : null;
}

function range(least: number, most: number): string {
  return least === most ? String(most) : `${least} to ${most}`;
}

/** Only digits, after "it's" or "my number is" at most. */
function isDictated(groups: readonly NumberGroup[], texts: QuestionTexts): boolean {
  const isDigits = (group: NumberGroup) => group.isFiller || group.digits !== '';
  const first = groups.findIndex(isDigits);
  const before = groups.slice(0, first).map(({ words }) => words);
  return groups.slice(first).every(isDigits) && announcesAnswer(before, texts);
}

/**
 * The digits at the end; `?` is one that is still to be named, as after "double". Sounds of hesitation may
 * interrupt them. Empty for an international number.
 */
function dictatedDigits(groups: readonly NumberGroup[], language: string): string {
  let digits = '';
  for (const group of groups.toReversed()) {
    if (group.words === symbolsFor(language).plus) return '';
    if (group.digits === '' && !group.isFiller) break;
    digits = group.digits + digits;
  }
  return digits;
}

function phoneLengths(digits: string, texts: QuestionTexts): readonly number[] {
  const fitting = lengthsBy(texts.phoneLengths).filter(([beginning]) => digits.startsWith(beginning));
  const longest = fitting.toSorted(([a], [b]) => b.length - a.length)[0];
  return longest?.[1] ?? [];
}

/** A code of letters and digits: "A B 1 2 3", "AB123", "A as in Anna, one, two, three". */
export function codeFit(
  tokens: readonly string[],
  lengths: readonly number[],
  texts: QuestionTexts,
  language: string,
): Fit | null {
  const [least, most] = [lengths[0], lengths.at(-1)];
  if (least === undefined || most === undefined) return null;
  const said = codeCharacters(withoutCourtesy(tokens, texts), texts, language);
  if (said === null) return null;
  const note = `expected ${range(least, most)} letters and digits, has ${said}`;
  if (said === most) return { goesOn: GOES_ON.number, note };
  if (lengths.includes(said)) return { goesOn: USUALLY_GOES_ON, note };
  return said < least ? { goesOn: null, note } : null;
}

/** Letters and digits of words that have nothing else, after "it's" at most; null for others. */
function codeCharacters(tokens: readonly string[], texts: QuestionTexts, language: string): number | null {
  const parts = codeParts(tokens, texts, language);
  const first = parts.findIndex(({ count }) => count > 0);
  const rest = parts.slice(first);
  const before = parts.slice(0, Math.max(0, first)).map(({ words }) => words);
  const isCode = first >= 0 && rest.every(({ count, isFiller }) => count > 0 || isFiller);
  return isCode && announcesAnswer(before, texts) ? rest.reduce((sum, { count }) => sum + count, 0) : null;
}

interface CodePart {
  readonly words: string;
  /** Letters and digits. */
  readonly count: number;
  readonly isFiller: boolean;
}

function codeParts(tokens: readonly string[], texts: QuestionTexts, language: string): readonly CodePart[] {
  const parts: CodePart[] = [];
  let run: string[] = [];
  const endRun = () => {
    for (const { digits, isFiller, words } of numberGroups(run, language))
      parts.push({ words, count: digits.length, isFiller });
    run = [];
  };
  for (const { letters, word } of spelledLetters(tokens, texts.asIn)) {
    const count = letters.length || writtenCode(word);
    if (count === 0) run.push(word);
    else {
      endRun();
      parts.push({ words: word, count, isFiller: false });
    }
  }
  endRun();
  return parts;
}

/** Characters of "ab123"; 0 for other words. */
function writtenCode(word: string): number {
  return /^[a-z]+\d[a-z\d-]*$/.test(word) ? word.replaceAll('-', '').length : 0;
}
