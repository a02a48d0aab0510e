/**
 * How complete are the caller's words for a postal address? "12 Main Street, Springfield 62704", "Hauptstraße
 * fünf, acht null drei drei eins München". A street shows that the words are an address; its house number,
 * postcode and town show how much of it. Linear in the words.
 */
import { endsHanging } from '../../text/grammar-cues.ts';
import type { PostalTexts } from '../../text/languages/language-texts.ts';
import { type NumberGroup, numberGroups } from '../../text/spoken-numbers.ts';
import { type Fit, GOES_ON } from './answer-fit.ts';

/** Digits of a house number. */
const LONGEST_HOUSE_NUMBER = 4;
/** "Frankfurt am Main" has as many words; more are about something else. */
const TOWN_WORDS = 4;
/** "1017 GA" */
const CODE_LETTERS = 2;
/** The end of "SW1A 2AA". */
const BRITISH_CODE = /(?:^|[a-z ])\d[a-z\d]?\d[a-z]{2}$/;
/** Words that may hold a British postcode that is spelled. */
const BRITISH_WORDS = 7;

const has = (what: string): string => `expected an address, has ${what}`;
const WHOLE: Fit = { goesOn: GOES_ON.address, note: has('it') };
const NO_NUMBER: Fit = { goesOn: null, note: has('no house number') };
const NO_POSTCODE: Fit = { goesOn: null, note: has('no postcode') };
const NO_TOWN: Fit = { goesOn: null, note: has('no town') };
/** Some callers say no more. */
const STREET_AND_NUMBER: Fit = { goesOn: GOES_ON.streetOnly, note: has('street and number') };
const NO_CODE_YET: Fit = { goesOn: GOES_ON.streetOnly, note: has('no postcode yet') };

/** `tokens` are bare words in lower case, without courtesies. */
export function postalFit(tokens: readonly string[], texts: PostalTexts, language: string): Fit | null {
  const groups = numberGroups(tokens, language).filter(({ isFiller }) => !isFiller);
  const street = groups.findIndex(({ digits, words }) => digits === '' && isStreet(words, texts));
  if (street < 0 || endsHanging(tokens.at(-1) ?? '', language)) return null;
  const runs = runsOf(groups);
  const last = runs.at(-1);
  // "I live on Main Street in Springfield" says where, but is no address.
  if (last === undefined) return street === 0 || street === groups.length - 1 ? NO_NUMBER : null;
  const said: Said = { groups, street, last, isOneRun: runs.length === 1 };
  return texts.beforeTown.length === 0 ? townFirst(said, texts) : codeFirst(said, texts);
}

interface Said {
  readonly groups: readonly NumberGroup[];
  /** Index of the word for a street. */
  readonly street: number;
  /** The last digits. */
  readonly last: Run;
  /** There are no others. */
  readonly isOneRun: boolean;
}

/** Digits in a row. `end` is the index of the group after them. */
interface Run {
  readonly digits: number;
  readonly end: number;
}

function isStreet(word: string, { streets }: PostalTexts): boolean {
  return streets
    .split('|')
    .some((street) => (street.startsWith('-') ? word.endsWith(street.slice(1)) : word === street));
}

function runsOf(groups: readonly NumberGroup[]): readonly Run[] {
  const runs: Run[] = [];
  for (const [index, { digits }] of groups.entries()) {
    if (digits === '') continue;
    const before = runs.at(-1)?.end === index ? runs.pop() : undefined;
    runs.push({ digits: (before?.digits ?? 0) + digits.length, end: index + 1 });
  }
  return runs;
}

/** "12 Main Street, Springfield 62704": nothing shows where the name of the town begins or ends. */
function townFirst({ groups, last, isOneRun }: Said, texts: PostalTexts): Fit | null {
  const ending = groups.slice(-BRITISH_WORDS).map(({ digits, words }) => digits || words);
  if (BRITISH_CODE.test(ending.join(''))) return WHOLE;
  const after = groups.slice(last.end).map(({ words }) => words);
  if (after.length > 0) return isStreet(after.at(-1) ?? '', texts) ? STREET_AND_NUMBER : NO_CODE_YET;
  if (isOneRun) return null;
  // A flat's number, or the beginning of a zip code.
  return texts.atEnd.includes(last.digits) ? WHOLE : NO_CODE_YET;
}

/** Street and house number, in either order, then the postcode, then the town. */
function codeFirst({ groups, last, isOneRun, street }: Said, texts: PostalTexts): Fit | null {
  // "12 rue de la Paix": no word shows whether a town was said.
  if (last.end <= street) return STREET_AND_NUMBER;
  const after = groups.slice(last.end).map(({ words }) => words);
  if (after.length === 0 && !isOneRun && texts.atEnd.includes(last.digits)) return WHOLE;
  const [shortest, longest] = [Math.min(...texts.beforeTown), Math.max(...texts.beforeTown)];
  // House number and postcode may be one run: "fünf acht null drei drei eins".
  const least = isOneRun ? shortest + 1 : shortest;
  const hasCode = last.digits >= least && last.digits <= longest + LONGEST_HOUSE_NUMBER;
  const town = withoutCodeLetters(after);
  if (town.length > TOWN_WORDS) return null;
  if (town.length > 0) return ofTown(town, hasCode, texts);
  if (isOneRun && last.digits < shortest) return STREET_AND_NUMBER;
  return hasCode ? NO_TOWN : NO_POSTCODE;
}

function ofTown(town: readonly string[], hasCode: boolean, texts: PostalTexts): Fit | null {
  if (!hasCode) return texts.atEnd.length > 0 ? NO_CODE_YET : null;
  return texts.townBegins.split('|').includes(town.at(-1) ?? '') ? NO_TOWN : WHOLE;
}

/** The words after "1017 GA" or "1017 G A". */
function withoutCodeLetters(words: readonly string[]): readonly string[] {
  const first = words.findIndex((word, index) => word.length > CODE_LETTERS || index >= CODE_LETTERS);
  return first < 0 ? [] : words.slice(first);
}
