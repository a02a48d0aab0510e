/**
 * Pronunciation dictionaries: replaces parts of the text by their pronunciation; at each position the longest
 * entry wins, from left to right.
 */

import { runInTurns } from '#base/run-steps.ts';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';

const STEP_CHARS = 256;
const TOO_LONG =
  `The text is longer than ${LIMITS.renderedChars} characters with its pronunciations: use ` +
  'shorter values, or less text';

/** One entry. */
export interface PronunciationItem {
  readonly key: string;
  readonly value: string;
  readonly case_sensitive: boolean;
}

/** Entries whose keys differ only in case. */
interface Key {
  readonly lower: string;
  /** The longest other key that is a prefix of this one. */
  readonly within: Key | null;
  /** In order of precedence. */
  readonly items: {
    readonly anyCase: RankedItem | undefined;
    readonly exact: ReadonlyMap<string, RankedItem>;
  };
}

interface RankedItem {
  readonly rank: number;
  readonly item: PronunciationItem;
}

/**
 * Applies every entry to the text; replaced text is not scanned again. Rejects with `bad_request` if it
 * becomes too long.
 */
export function pronounce(text: string, items: readonly PronunciationItem[]): Promise<string> {
  // Yields between steps, because a long text and a large dictionary take a second.
  return runInTurns(pronouncing(text, items));
}

/** `pronounce` in short steps. */
export function* pronouncing(text: string, items: readonly PronunciationItem[]): Generator<void, string> {
  if (items.length === 0) return text;
  const keys = sortedKeys(items);
  const longest = Math.max(...keys.map(({ lower }) => lower.length));
  const lower = lowerCase(text);
  let said = '';
  for (let at = 0, looked = 0; at < text.length; looked++) {
    if (looked % STEP_CHARS === STEP_CHARS - 1) yield;
    const item = itemAt(keys, lower.slice(at, at + longest), text.slice(at, at + longest));
    said += item ? item.value : text.charAt(at);
    at += item ? item.key.length : 1;
    if (said.length > LIMITS.renderedChars) throw fault('bad_request', { detail: TOO_LONG });
  }
  return said;
}

/** Only the last key that sorts before the text, and the prefixes of that key, can begin the text. */
function itemAt(keys: readonly Key[], lower: string, text: string): PronunciationItem | undefined {
  let [from, to] = [0, keys.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((keys[middle]?.lower ?? '') <= lower) from = middle + 1;
    else to = middle;
  }
  for (let key = keys[from - 1] ?? null; key; key = key.within) {
    if (!lower.startsWith(key.lower)) continue;
    const { anyCase, exact } = key.items;
    const [first] = [anyCase, exact.get(text.slice(0, key.lower.length))]
      .filter((found) => found !== undefined)
      .sort((a, b) => a.rank - b.rank);
    if (first) return first.item;
  }
  return undefined;
}

function sortedKeys(items: readonly PronunciationItem[]): Key[] {
  const byKey = new Map<string, { anyCase: RankedItem | undefined; exact: Map<string, RankedItem> }>();
  for (const [rank, item] of items.entries()) {
    const lower = lowerCase(item.key);
    const found = byKey.get(lower) ?? { anyCase: undefined, exact: new Map() };
    byKey.set(lower, found);
    if (!item.case_sensitive) found.anyCase ??= { rank, item };
    else if (!found.exact.has(item.key)) found.exact.set(item.key, { rank, item });
  }
  const keys: Key[] = [];
  for (const [lower, found] of [...byKey].sort(([a], [b]) => (a < b ? -1 : 1))) {
    let within = keys.at(-1) ?? null;
    while (within && !lower.startsWith(within.lower)) within = within.within;
    keys.push({ lower, within, items: found });
  }
  return keys;
}

/** Lower-cases character by character: some characters would otherwise become longer. */
function lowerCase(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return Array.from({ length: text.length }, (_, at) => text.charAt(at))
    .map((character) => (character.toLowerCase().length === 1 ? character.toLowerCase() : character))
    .join('');
}
