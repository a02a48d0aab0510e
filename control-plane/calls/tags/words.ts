/** Words of what was said, for comparisons: in lower case, without accents and punctuation. */

/** Words of one message that are looked at, and characters, also once ligatures are taken apart. */
const MOST_WORDS = 200;
const MOST_CHARS = 2_000;

/** The words of a message, at most the first 200 within 2,000 characters. */
export function wordsOf(text: string): string[] {
  const plain = text.slice(0, MOST_CHARS).normalize('NFKD').slice(0, MOST_CHARS).toLowerCase();
  return (plain.replace(/[\p{Mn}'’]/gu, '').match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, MOST_WORDS);
}

/** How often each word of a message is in it. */
export type WordCounts = ReadonlyMap<string, number>;

/** Counts the words of a message. */
export function countsOf(words: readonly string[]): WordCounts {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** A message to be compared. */
export interface Said {
  readonly words: number;
  readonly counts: WordCounts;
}

/**
 * How much two messages have in common, 0 to 1: Dice's coefficient of their words, counted with
 * repetition.
 */
export function likeness(a: Said, b: Said): number {
  if (a.words + b.words === 0) return 0;
  let common = 0;
  for (const [word, count] of a.counts) common += Math.min(count, b.counts.get(word) ?? 0);
  return (2 * common) / (a.words + b.words);
}
