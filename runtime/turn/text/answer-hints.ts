/**
 * The answer that the model says its question expects (`answer_hints`), as a cue in square brackets after the
 * question: "[expects 8 digits]". The cue is removed from the reply; it is never spoken and in no transcript.
 * The model's words are not trusted: of a cue at most 80 characters are read, in linear time.
 */
import type { Expectation } from './expectation.ts';
import { normalised } from './normalised.ts';
import { choiceOf, lengthsBetween } from './tool-slots.ts';

/** A cue, and one that ends without its bracket: a reply that was cut off. */
const CUE = /\[expects\b([^[\]]{0,400})(?:\]|$)/gi;
/** A cue without its end. Longer brackets are text. */
const BEGUN = /^\[expects\b[^[\]]{0,400}/i;
const READ_CHARS = 80;
const MOST_OPTIONS = 6;

/** Instruction for the model of an agent with hints. */
export const HINT_INSTRUCTION =
  'When your reply asks for something, end it with what you expect, as one of these cues: ' +
  '[expects yes or no], [expects phone number], [expects email address], [expects postal address], ' +
  '[expects date of birth], [expects full name], [expects spelled name], [expects 6 digits], ' +
  '[expects 4 to 6 digits], [expects 8 characters] for letters with digits, ' +
  '[expects one of small, medium, large], [expects anything]. Cues are never read aloud.';

const NAMED: ReadonlyMap<string, Expectation> = new Map([
  ['yes or no', { kind: 'yes_no', isOffer: false }],
  ['phone number', { kind: 'phone' }],
  ['email address', { kind: 'email' }],
  ['postal address', { kind: 'postal' }],
  ['date of birth', { kind: 'birth' }],
  ['full name', { kind: 'full_name' }],
  ['spelled name', { kind: 'spelling', names: [] }],
]);

/** A text without its hints, and the last one that is understood. */
export interface HintedText {
  readonly text: string;
  /** Null: anything, whatever the words of the question seem to ask for. Absent without a hint. */
  readonly expects?: Expectation | null;
}

/** Removes the hints from a part of a reply. */
export function withoutHints(text: string): HintedText {
  if (!text.includes('[')) return { text };
  let hint: Expectation | null | undefined;
  const plain = text.replace(CUE, (_, what: string) => {
    const said = expectationNamed(what);
    if (said !== undefined) hint = said;
    return ' ';
  });
  return { text: plain, ...(hint === undefined ? {} : { expects: hint }) };
}

/** End of the hint that a text begins with; 0 while its bracket may still close, null if there is no hint. */
export function hintEnd(text: string): number | null {
  const length = BEGUN.exec(text)?.[0].length ?? 0;
  if (length === 0) return null;
  if (length === text.length) return 0;
  return text[length] === ']' ? length + 1 : null;
}

/** The expectation that a hint names; undefined if it is not understood. */
function expectationNamed(what: string): Expectation | null | undefined {
  if (what.length > READ_CHARS) return undefined;
  const words = normalised(what.replaceAll('-', ' '));
  if (words === 'anything') return null;
  return NAMED.get(words) ?? optionsIn(what) ?? lengthIn(words);
}

function optionsIn(what: string): Expectation | undefined {
  const [, list] = /^\s*one of\s(.+)$/i.exec(what) ?? [];
  if (list === undefined) return undefined;
  const options = list
    .split(/,|\sor\s/)
    .map((option) => option.trim())
    .filter((option) => option !== '');
  return options.length > MOST_OPTIONS ? undefined : (choiceOf(options) ?? undefined);
}

/** "8 digits", "4 or 6 digits", "6 to 8 characters". */
function lengthIn(words: string): Expectation | undefined {
  const [, first, joint, second, unit] =
    /^(\d{1,2})(?: (to|or) (\d{1,2}))? (digit|character)s?$/.exec(words) ?? [];
  if (first === undefined) return undefined;
  const [least, most] = [Number(first), Number(second ?? first)];
  const either = [least, most].flatMap((length) => lengthsBetween(length, length) ?? []);
  const lengths = joint === 'or' && either.length === 2 ? either : lengthsBetween(least, most);
  if (lengths === null) return undefined;
  return { kind: unit === 'digit' ? 'digits' : 'code', lengths };
}
