/** Words that consist of known phrases only: "yeah, okay, right" is three acknowledgements. */

/** Scripts without spaces between words. */
export const UNSPACED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}ー]+$/u;

/**
 * The phrases that `said` is made of, such as 「はい、はい、そうですね」; null if it has other words. `phrases` must be
 * sorted longest first.
 */
export function phrasesOf(said: string, phrases: readonly string[]): readonly string[] | null {
  const found: string[] = [];
  let rest = said;
  while (rest !== '') {
    const phrase = phrases.find(
      (candidate) =>
        rest === candidate ||
        rest.startsWith(`${candidate} `) ||
        (UNSPACED.test(candidate) && rest.startsWith(candidate)),
    );
    if (phrase === undefined) return null;
    found.push(phrase);
    rest = rest.slice(phrase.length).replace(/^[\s、。，]+/, '');
  }
  return found;
}
