/**
 * Phone keys (`conversation.keypad_menu` and `keypad_input`): the menu option of a key or phrase, and the
 * collection of digits into one entry. Pure.
 */
import { digitOf } from './digit-words.ts';
import { normalised } from './normalised.ts';

/** A menu played before the conversation; texts are rendered, times in ms. */
export interface KeypadMenu {
  readonly prompt: string;
  /** Spoken before the repeated prompt; empty: only the prompt is repeated. */
  readonly retryMessage: string;
  readonly options: readonly KeypadOption[];
  readonly acceptsSpeech: boolean;
  /** Dynamic variable that stores the choice. */
  readonly variable: string;
  /** From the end of the prompt. */
  readonly noInputMs: number;
  readonly maxAttempts: number;
  /** The variable's value when no attempt led to a choice. */
  readonly fallbackValue: string;
}

/** One option. */
export interface KeypadOption {
  readonly key: string;
  /** What callers say for it; phrases are separated by commas, semicolons, slashes or bars. */
  readonly label: string;
  readonly value: string;
}

/** Spoken keys are short utterances: "one", "number one please". */
const LONGEST_SPOKEN_KEY_WORDS = 3;

/** The spoken text of a menu at an attempt (from 1). A menu without a prompt reads its options. */
export function menuText(menu: KeypadMenu, attempt: number): string {
  const prompt =
    menu.prompt === ''
      ? menu.options.map(({ key, label }) => `${label === '' ? '' : `${label}: `}${key}.`).join(' ')
      : menu.prompt;
  return attempt > 1 && menu.retryMessage !== '' ? `${menu.retryMessage} ${prompt}` : prompt;
}

/** The option of a key, or null. */
export function optionOfKey(menu: KeypadMenu, key: string): KeypadOption | null {
  return menu.options.find((option) => option.key === key) ?? null;
}

/**
 * The option a caller's words name, by one of its phrases or its key as a word. Null when none or several
 * match.
 */
export function optionOfWords(menu: KeypadMenu, text: string, language: string): KeypadOption | null {
  const said = normalised(text);
  if (said === '') return null;
  const named = menu.options.flatMap((option) => {
    const phrase = longestPhrase(option, said);
    return phrase === '' ? [] : [{ option, phrase }];
  });
  if (named.length > 0) return mostExact(named);
  const words = said.split(' ');
  if (words.length > LONGEST_SPOKEN_KEY_WORDS) return null;
  const keys = new Set(words.map((word) => digitOf(word, language)).filter((digit) => digit !== null));
  const [key] = keys;
  return key !== undefined && keys.size === 1 ? optionOfKey(menu, key) : null;
}

function longestPhrase({ label }: KeypadOption, said: string): string {
  const phrases = label.split(/[,;/|]/).map(normalised);
  return (
    phrases
      .filter((phrase) => phrase !== '' && ` ${said} `.includes(` ${phrase} `))
      .sort((a, b) => b.length - a.length)[0] ?? ''
  );
}

/** "Technical support" is not "support"; "sales or support" is neither. */
function mostExact(
  named: readonly { readonly option: KeypadOption; readonly phrase: string }[],
): KeypadOption | null {
  const best = named.filter(({ phrase }) => named.every((other) => phrase.includes(other.phrase)));
  return best.length === 1 ? (best[0]?.option ?? null) : null;
}

/** The settings of digit entry used here. */
export interface KeypadInput {
  /** `#`, `*`, or empty for none. */
  readonly terminator: string;
}

/** An entry after one more key. */
export interface KeypadStep {
  readonly digits: string;
  /** The entry is complete: its digits become the turn, unless there are none. */
  readonly isComplete: boolean;
}

/** Longest entry; more digits are cut into several. */
const LONGEST_ENTRY = 64;

/** Adds a key to the entry in progress. */
export function pressKey(digits: string, key: string, input: KeypadInput): KeypadStep {
  if (key === input.terminator) return { digits, isComplete: true };
  if (!/^[0-9*#A-D]$/.test(key)) return { digits, isComplete: false };
  const entry = digits + key;
  return { digits: entry, isComplete: entry.length >= LONGEST_ENTRY };
}

/** The entry as a message of the caller. */
export function keypadMessage(digits: string): string {
  return `Keypad entry: ${digits}`;
}
