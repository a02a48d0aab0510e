/**
 * What is at the far end of an outgoing call (`automated_lines`): a person, or a line that is not simply one.
 * Part of the machine's state.
 */
import type { Automated, SpokenAs } from '../text/line-words.ts';

/** The far end, as far as it is known. Immutable. */
export interface LineOf<Turn> {
  readonly is: SpokenAs;
  readonly sinceMs: number;
  /** Turns that were taken in this step and are not yet judged. */
  readonly heard: readonly Turn[];
  /** Words that only the silence after them explains: a menu that may go on, or an announcement. */
  readonly pending: {
    readonly turn: Turn;
    readonly is: 'menu' | 'unknown';
    readonly isSpoken: boolean;
  } | null;
  /** Announcements so far, folded. */
  readonly announcements: readonly string[];
  /** Menus that were answered, folded, and how often. */
  readonly menus: readonly { readonly words: string; readonly times: number }[];
  readonly isMusic: boolean;
  /** The greeting was prepared for a person, and none has heard it. */
  readonly owesGreeting: boolean;
  readonly isIntroduced: boolean;
  /** The agent has asked an automated line whether somebody is there. */
  readonly isProbed: boolean;
  /** When either side was last heard on an automated line. */
  readonly quietSinceMs: number;
  /** When the timer `line` is due; null if it does not run. */
  readonly dueMs: number | null;
}

/** A line of which nothing is known yet. */
const UNKNOWN_LINE: LineOf<never> = {
  is: 'unknown',
  sinceMs: 0,
  heard: [],
  pending: null,
  announcements: [],
  menus: [],
  isMusic: false,
  owesGreeting: false,
  isIntroduced: false,
  isProbed: false,
  quietSinceMs: 0,
  dueMs: null,
};

/** The line at the start of a call, or as another worker left it: a person has yet to be greeted on it. */
export function lineAtStart(left?: Automated): LineOf<never> {
  return left ? { ...UNKNOWN_LINE, is: left, owesGreeting: true } : UNKNOWN_LINE;
}
