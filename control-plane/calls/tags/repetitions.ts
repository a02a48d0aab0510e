/** Finds what is said again: by an agent that is caught in a loop, or by a caller who is not understood. */
import { countsOf, likeness, type Said, wordsOf } from './words.ts';

/** Two messages with this likeness say nearly the same. */
const NEARLY_SAME = 0.8;
/** Messages of one side that are looked at: more than are said in an hour. */
export const MOST_LINES = 1_000;

/** When a message counts as a repetition. */
export interface RepetitionRule {
  /** Shorter messages, such as `yes please`, may be said often. */
  readonly words: number;
  /** How many earlier messages of the same side are looked at. */
  readonly within: number;
  /** How many of them say nearly the same. */
  readonly times: number;
}

/** The agent has said it twice before within its last eight messages. */
export const LOOP: RepetitionRule = { words: 4, within: 8, times: 2 };
/** The caller has said it before within their last three messages. */
export const REPEATED: RepetitionRule = { words: 3, within: 3, times: 1 };

/** The messages that repeat earlier ones, in order, among the first 1,000. Linear in their number. */
export function repetitionsIn<Line extends { readonly content: string }>(
  lines: readonly Line[],
  { words, within, times }: RepetitionRule,
): Line[] {
  const last: Said[] = [];
  const found: Line[] = [];
  for (const line of lines.slice(0, MOST_LINES)) {
    const spoken = wordsOf(line.content);
    if (spoken.length < words) continue;
    const said = { words: spoken.length, counts: countsOf(spoken) };
    if (last.filter((earlier) => likeness(earlier, said) >= NEARLY_SAME).length >= times) found.push(line);
    last.push(said);
    if (last.length > within) last.shift();
  }
  return found;
}
