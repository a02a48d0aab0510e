/** Words of what was said, for comparisons: in lower case, without accents and punctuation. */

/** Words of one message that are looked at. */
const MOST_WORDS = 200;
const MOST_CHARS = 4_000;

/** The words of a message, at most the first 200. Linear in what is read of it. */
export function wordsOf(text: string): string[] {
  const plain = text.slice(0, MOST_CHARS).normalize('NFKD').toLowerCase();
  return (plain.replace(/[\p{Mn}'’]/gu, '').match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, MOST_WORDS);
}

/**
 * How much two messages have in common, 0 to 1: Dice's coefficient of their words, counted with
 * repetition.
 */
export function likeness(a: readonly string[], b: readonly string[]): number {
  if (a.length + b.length === 0) return 0;
  const left = new Map<string, number>();
  for (const word of a) left.set(word, (left.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of b) {
    const count = left.get(word) ?? 0;
    if (count === 0) continue;
    left.set(word, count - 1);
    common += 1;
  }
  return (2 * common) / (a.length + b.length);
}
