/**
 * Whether the agent says that it presses keys: "I have pressed two", "I'll press 2 now". Questions, offers
 * and what others press do not count. Pure, and linear in the length of the text.
 */
import { memoised } from '#base/memoised.ts';
import { DIGITS } from './digit-words.ts';
import { bareWords } from './normalised.ts';
import { pressingTextsFor } from './phrases.ts';

/** A key follows its verb, or the verb its key, within so many words: "I've dialled your code one two". */
const KEY_WITHIN = 5;

interface Claims {
  /** Each phrase as words; a gap of any words, up to `KEY_WITHIN`, between its parts. */
  readonly always: readonly (readonly string[])[];
  readonly withKey: readonly (readonly string[])[];
  readonly keys: ReadonlySet<string>;
}

const claimsOf = memoised((language: string): Claims | null => {
  const texts = pressingTextsFor(language);
  if (!texts) return null;
  return {
    always: phrases(texts.always),
    withKey: phrases(texts.withKey),
    // Without one, which is an article in most of these languages.
    keys: new Set([
      ...texts.keys.split('|'),
      ...(DIGITS[language] ?? '')
        .split(' ')
        .filter((_, digit) => digit !== 1)
        .flatMap((digit) => digit.split('|')),
    ]),
  };
});

/** Whether `text` claims it; false in a language without words for it. */
export function claimsKeys(text: string, language: string): boolean {
  const claims = claimsOf(language);
  if (!claims || /[?？]\s*$/.test(text)) return false;
  const words = bareWords(text.replaceAll('’', "'"));
  return words.some(
    (_, at) =>
      claims.always.some((phrase) => endOf(phrase, words, at) !== null) ||
      claims.withKey.some((phrase) => hasKeyNear(claims.keys, words, [at, endOf(phrase, words, at)])),
  );
}

function phrases(list: string): string[][] {
  return list.split('|').map((phrase) => phrase.split(' '));
}

/** Where a phrase that begins at a word ends; null if it does not begin there. */
function endOf(phrase: readonly string[], words: readonly string[], at: number): number | null {
  let next = at;
  for (const [index, part] of phrase.entries()) {
    if (part === '…') continue;
    const mayWait = phrase[index - 1] === '…' ? KEY_WITHIN : 0;
    const found = words.slice(next, next + mayWait + 1).indexOf(part);
    if (found < 0) return null;
    next += found + 1;
  }
  return next;
}

function hasKeyNear(
  keys: ReadonlySet<string>,
  words: readonly string[],
  [from, end]: readonly [number, number | null],
): boolean {
  if (end === null) return false;
  return words.slice(from, end + KEY_WITHIN).some((word) => keys.has(word) || /^[\d*#]+$/.test(word));
}
