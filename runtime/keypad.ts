/** Keypad entries (S§2.3 conversation.keypad_input): digits become one message at the terminator or after the inter-digit timeout. Pure. */

/** The settings that matter here. */
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

/** The entry as a message of the caller (running.md "Phone"). */
export function keypadMessage(digits: string): string {
  return `Keypad entry: ${digits}`;
}
