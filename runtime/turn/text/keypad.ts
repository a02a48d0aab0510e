/**
 * Keys of the phone (`conversation.keypad_menu` and `keypad_input`): which option of a menu a key or a phrase
 * means, and how digits become one entry. Pure.
 */
import { digitOf } from './digit-words.ts';
import { normalised } from './normalised.ts';

/** A menu played before the conversation; texts are rendered, times in ms. */
export interface KeypadMenu {
  readonly prompt: string;
  /** Said before the prompt is repeated; empty: only the prompt is repeated. */
  readonly retryMessage: string;
  readonly options: readonly KeypadOption[];
  readonly acceptsSpeech: boolean;
  /** Dynamic variable that keeps the choice. */
  readonly variable: string;
  /** Counted from the end of the prompt. */
  readonly noInputMs: number;
  readonly maxAttempts: number;
  /** The variable's value when no attempt gave a choice. */
  readonly fallbackValue: string;
}

/** One thing that can be chosen. */
export interface KeypadOption {
  readonly key: string;
  /** What callers say for it; several phrases are separated by commas, semicolons, slashes or bars. */
  readonly label: string;
  readonly value: string;
}

/** A key said instead of pressed is a short utterance: "one", "number one please". */
const LONGEST_SPOKEN_KEY_WORDS = 3;

/** What is said for a menu at an attempt (from 1). A menu without a prompt reads its options. */
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
 * The option a caller's words name: by one of its phrases, or by its key as a word. Null when none, or more
 * than one, is meant.
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

/** The settings of digit entry that matter here. */
export interface KeypadInput {
  /** `#`, `*` or empty for none. */
  readonly terminator: string;
}

/** What one more key makes of an entry. */
export interface KeypadStep {
  readonly digits: string;
  /** The entry is complete: its digits are the turn, unless there are none. */
  readonly isComplete: boolean;
}

/** More digits than anyone types are one entry. */
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
