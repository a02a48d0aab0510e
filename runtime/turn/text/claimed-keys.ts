/**
 * Whether the agent says that it presses keys: "I have pressed two", "I'll press 2 now". Questions, offers,
 * denials and what others press do not count. Pure, and linear in the length of the text.
 */
import { memoised } from '#base/memoised.ts';
import { digitOf } from './digit-words.ts';
import { bareWords } from './normalised.ts';
import { pressingTextsFor } from './phrases.ts';

/** A key follows its verb, or the verb its key, within so many words: "I've dialled your code one two". */
const KEY_WITHIN = 5;
/** A word denies a phrase from at most so many words before its beginning or after its end. */
const DENIED_WITHIN = 2;

interface Claims {
  /** Each phrase as words; a gap of any words, up to `KEY_WITHIN`, between its parts. */
  readonly always: readonly (readonly string[])[];
  readonly withKey: readonly (readonly string[])[];
  readonly isKey: (word: string) => boolean;
  readonly denials: ReadonlySet<string>;
}

const claimsOf = memoised((language: string): Claims | null => {
  const texts = pressingTextsFor(language);
  if (!texts) return null;
  const keys = new Set(texts.keys.split('|'));
  // Words for one are articles in most of these languages.
  const isDigit = (word: string) => (digitOf(word, language) ?? '1') !== '1';
  return {
    always: phrases(texts.always),
    withKey: phrases(texts.withKey),
    denials: new Set(texts.denials.split('|')),
    isKey: (word) => keys.has(word) || /^[\d*#]+$/.test(word) || isDigit(word),
  };
});

/** Whether `text` may claim it; false in a language without words for it. */
export function claimsKeys(text: string, language: string): boolean {
  return has(text, language, ({ always, isKey, withKey }, words, at) => {
    const isKeyed = (end: number) => words.slice(at, end + KEY_WITHIN).some(isKey);
    return [...endsOf(always, words, at), ...endsOf(withKey, words, at).filter(isKeyed)];
  });
}

/** Whether `text` claims it in words that mean nothing else: "I pressed", not "I entered two names". */
export function claimsKeysForSure(text: string, language: string): boolean {
  return has(text, language, ({ always }, words, at) => endsOf(always, words, at));
}

/** Whether any phrase is not denied; `find` gives the ends of those that begin at a word. */
function has(
  text: string,
  language: string,
  find: (claims: Claims, words: readonly string[], at: number) => readonly number[],
): boolean {
  const claims = claimsOf(language);
  if (!claims || /[?？]\s*$/.test(text)) return false;
  const words = bareWords(text.replaceAll('’', "'"));
  const isDenied = (at: number, end: number) =>
    words
      .slice(Math.max(0, at - DENIED_WITHIN), end + DENIED_WITHIN)
      .some((word) => claims.denials.has(word));
  return words.some((_, at) => find(claims, words, at).some((end) => !isDenied(at, end)));
}

function phrases(list: string): string[][] {
  return list.split('|').map((phrase) => phrase.split(' '));
}

/** The ends of those phrases that begin at a word. */
function endsOf(list: readonly (readonly string[])[], words: readonly string[], at: number): number[] {
  return list.flatMap((phrase) => endOf(phrase, words, at) ?? []);
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
