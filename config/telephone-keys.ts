/**
 * Keys to press on a phone line, with pauses, as one string: `1w2345#`. The pauses are those of dial strings
 * in Asterisk (`SendDTMF`), Twilio (`sendDigits`) and telephones: `w` half a second, `W` a second, a comma
 * two seconds. Pure, and linear in the length of the text.
 */

/** Keys in the order of their event codes (RFC 4733 §3.2). */
export const TELEPHONE_KEYS = '0123456789*#ABCD';
/** Length of each pause, ms. */
const PAUSES_MS: ReadonlyMap<string, number> = new Map([
  ['w', 500],
  ['W', 1_000],
  [',', 2_000],
]);
/** Longest text of keys and pauses. */
export const MAX_KEYS = 64;
/** Longest sum of the pauses in a text, ms. */
const MAX_PAUSES_MS = 60_000;
/** Stands for a key that is not shown. */
export const HIDDEN_KEY = '•';
/** Longest time that the product takes for a key and the pause after it, by any way of sending, ms. */
const LONGEST_KEY_MS = 1_000;

/** A key, or a pause in ms. */
export type Press = { readonly key: string } | { readonly pauseMs: number };

/** Reads keys and pauses; other characters are left out. */
export function pressesOf(keys: string): Press[] {
  return [...keys].flatMap((character): Press[] => {
    const pauseMs = PAUSES_MS.get(character);
    if (pauseMs !== undefined) return [{ pauseMs }];
    const key = character.toUpperCase();
    return TELEPHONE_KEYS.includes(key) ? [{ key }] : [];
  });
}

/**
 * The keys of a text without spaces and hyphens, A to D in capitals. Null if it is longer than `MAX_KEYS`,
 * has another character, no key, or longer pauses than a minute.
 */
export function readKeys(text: string): string | null {
  if (text.length > 2 * MAX_KEYS) return null;
  const keys = text.replace(/[ -]/g, '').replace(/[a-d]/g, (key) => key.toUpperCase());
  const pausesMs = pressesOf(keys).reduce((sum, press) => sum + ('pauseMs' in press ? press.pauseMs : 0), 0);
  const isValid = keys.length <= MAX_KEYS && /^[0-9*#A-DwW,]+$/.test(keys) && /[^wW,]/.test(keys);
  return isValid && pausesMs <= MAX_PAUSES_MS ? keys : null;
}

/** The same text with each key replaced by a dot; the pauses stay. */
export function hiddenKeys(keys: string): string {
  return keys.replace(/[^wW, ]/g, HIDDEN_KEY);
}

/** The longest time that sending takes, ms; the keys may be hidden. */
export function longestPressMs(keys: string): number {
  return [...keys].reduce((sum, each) => sum + (PAUSES_MS.get(each) ?? LONGEST_KEY_MS), 0);
}
