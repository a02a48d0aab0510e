/**
 * A JSGF grammar of an agent's keyterms for pocketsphinx: each keyterm is a whole utterance. Only digits may
 * be combined: if all keyterms may, short ones are recognised in the noise after every sentence (measured: 19
 * of 30 phrases right instead of 28). Terms with a word missing from the pronouncing dictionary are left out,
 * because one such word makes the whole grammar unusable.
 */
import { readFile } from 'node:fs/promises';
import { setImmediate as nextRound } from 'node:timers/promises';

const DIGITS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];

/**
 * Knows which words can be pronounced. A lookup takes a few milliseconds; the event loop runs between two of
 * them.
 */
export interface PronouncingDictionary {
  has(word: string): Promise<boolean>;
}

/** Opens a CMU dictionary; without one, every word counts as known. */
export async function readDictionary(path: string | null): Promise<PronouncingDictionary> {
  const entries = path === null ? null : await readFile(path).catch(() => null);
  if (!entries) return { has: async () => true };
  const lookups = new Map<string, boolean>();
  return {
    async has(word) {
      const cached = lookups.get(word);
      if (cached !== undefined) return cached;
      await nextRound();
      // One search per word and process: an index of all 130,000 words would cost more than it saves.
      const found = entries.includes(`\n${word} `) || entries.includes(`\n${word}\t`);
      lookups.set(word, found);
      return found;
    },
  };
}

const MAX_DIGIT_STRING = 10;

/** The grammar, or null if no keyterm is left. */
export async function keytermGrammar(
  keyterms: readonly string[],
  dictionary: PronouncingDictionary,
): Promise<string | null> {
  const usable = new Set<string>();
  for (const words of keyterms.map(toWords))
    if (words.length > 0 && (await hasAll(dictionary, words))) usable.add(words.join(' '));
  const phrases = [...usable];
  if (phrases.length === 0) return null;
  const digits = phrases.filter((phrase) => DIGITS.includes(phrase));
  // Written out instead of `+`, which affects the other alternatives in pocketsphinx.
  const further = MAX_DIGIT_STRING - 1;
  const digitString = `${'<digit> ['.repeat(further)}<digit>${']'.repeat(further)}`;
  return [
    '#JSGF V1.0;',
    'grammar keyterms;',
    `<phrase> = ${phrases.join(' | ')};`,
    ...(digits.length === 0 ? [] : [`<digit> = ${digits.join(' | ')};`]),
    `public <utterance> = <phrase>${digits.length === 0 ? '' : ` | <digit> ${digitString}`};`,
    '',
  ].join('\n');
}

/** One after the other: concurrent lookups would run in a single turn of the event loop. */
async function hasAll(dictionary: PronouncingDictionary, words: readonly string[]): Promise<boolean> {
  for (const word of words) if (!(await dictionary.has(word))) return false;
  return true;
}

/** Keeps words of letters and inner apostrophes, none of which is JSGF syntax. Digits are spelt out. */
function toWords(keyterm: string): string[] {
  const spelt = keyterm.toLowerCase().replace(/[0-9]/g, (digit) => ` ${DIGITS[Number(digit)]} `);
  return spelt.match(/[a-z]+(?:'[a-z]+)*/g) ?? [];
}
