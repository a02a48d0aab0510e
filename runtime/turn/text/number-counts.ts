/**
 * The words of the numbers from 10 to 99 and of the hundreds, with what recognisers write instead, in the
 * languages in which dictated numbers are read from them. Each language is built at its first use.
 */
import { memoised } from '#base/memoised.ts';
import { DIGITS } from './digit-words.ts';
import { withoutAccents } from './normalised.ts';
import { cardinalWords } from './number-words.ts';

/** A language's numbers by their words, without accents or hyphens. */
export interface Counts {
  /** 1 to 9. */
  readonly units: ReadonlyMap<string, string>;
  /** 10 to 99. */
  readonly tens: ReadonlyMap<string, string>;
  /** 100 to 900, where they are words of their own. */
  readonly hundreds: ReadonlyMap<string, string>;
  /** Beginnings of words with hundreds, and their first digit, longest first. */
  readonly stems: readonly (readonly [string, string])[];
  /** Words between the hundreds and the rest. */
  readonly joins: ReadonlySet<string>;
  /** First words of tens and hundreds. */
  readonly firstWords: ReadonlySet<string>;
  /** Words of the longest phrase. */
  readonly longest: number;
}

interface Writing {
  /** The same number in other words; each is applied to all forms before it. */
  readonly variants: readonly (readonly [RegExp, string])[];
  readonly joins: string;
  /** Hundreds and rest are one word. */
  readonly isCompound?: boolean;
}

/** After these "quatre-vingt" is ninety and more. */
const FRENCH_EIGHTY = /quatre vingt\b(?! (dix|onze|douze|treize|quatorze|quinze|seize))/;

const WRITINGS: Readonly<Record<string, Writing>> = {
  en: { joins: 'and', variants: [[/^one hundred/, 'a hundred']] },
  de: {
    joins: 'und',
    isCompound: true,
    variants: [
      [/^ein(?=hundert)/, ''],
      [/und(?=(zwan|vier|funf|sech|sieb|acht|neun)zig|dreissig)/, ' und '],
    ],
  },
  es: {
    joins: '',
    variants: [
      [/entos$/, 'entas'],
      [/^cien$/, 'ciento'],
      [/uno$/, 'un'],
      [/uno$/, 'una'],
      [/^veinti(?=[a-z])/, 'veinte y '],
    ],
  },
  fr: {
    joins: '',
    variants: [
      [FRENCH_EIGHTY, 'huitante'],
      [FRENCH_EIGHTY, 'octante'],
      [/un$/, 'une'],
    ],
  },
  it: {
    joins: '',
    isCompound: true,
    variants: [[/(?<=renta|anta|venti)(?=[a-z])/, ' ']],
  },
  nl: {
    joins: 'en',
    isCompound: true,
    variants: [[/en(?=(twin|der|veer|vijf|zes|zeven|tach|negen)tig)/, ' en ']],
  },
  pt: {
    joins: 'e',
    variants: [
      [/^dezasseis/, 'dezesseis'],
      [/^dezassete/, 'dezessete'],
      [/^dezanove/, 'dezenove'],
      [/^catorze/, 'quatorze'],
      [/dois$/, 'duas'],
      [/um$/, 'uma'],
      [/entos$/, 'entas'],
      [/^cem$/, 'cento'],
    ],
  },
};

const NONE: Counts = {
  units: new Map(),
  tens: new Map(),
  hundreds: new Map(),
  stems: [],
  joins: new Set(),
  firstWords: new Set(),
  longest: 0,
};

/** The counts of a language; empty where none are known. */
export const countsOf = memoised((language: string): Counts => {
  const writing = Object.hasOwn(WRITINGS, language) ? WRITINGS[language] : undefined;
  return writing ? readCounts(language, writing) : NONE;
});

function readCounts(language: string, writing: Writing): Counts {
  const tens = new Map<string, string>();
  for (let value = 10; value < 100; value++) addForms(tens, value, language, writing);
  const hundreds = new Map<string, string>();
  for (let value = 100; value < 1_000; value += 100) addForms(hundreds, value, language, writing);
  const phrases = [...tens.keys(), ...hundreds.keys()].map((words) => words.split(' '));
  return {
    units: unitsOf(language),
    tens,
    hundreds,
    stems: writing.isCompound ? stemsOf(hundreds) : [],
    joins: new Set(writing.joins === '' ? [] : [writing.joins]),
    firstWords: new Set(phrases.map(([first = '']) => first)),
    longest: Math.max(...phrases.map((words) => words.length)),
  };
}

function unitsOf(language: string): ReadonlyMap<string, string> {
  return new Map(
    (DIGITS[language] ?? '')
      .split(' ')
      .flatMap((variants, digit) =>
        variants.split('|').map((word): [string, string] => [foldedWord(word), String(digit)]),
      )
      .filter(([, digit]) => digit !== '0'),
  );
}

function addForms(to: Map<string, string>, value: number, language: string, { variants }: Writing): void {
  for (const words of cardinalWords(value, language)) {
    const forms = new Set([words.split(/[ -]/).map(foldedWord).join(' ')]);
    for (const [from, into] of variants) for (const form of [...forms]) forms.add(form.replace(from, into));
    for (const form of forms) if (!to.has(form)) to.set(form, String(value));
  }
}

/** "Centotto" has lost the last letter of "cento". */
function stemsOf(hundreds: ReadonlyMap<string, string>): readonly (readonly [string, string])[] {
  return [...hundreds]
    .flatMap(([words, digits]): (readonly [string, string])[] => {
      const first = digits[0] ?? '';
      return words.endsWith('cento')
        ? [
            [words, first],
            [words.slice(0, -1), first],
          ]
        : [[words, first]];
    })
    .sort(([a], [b]) => b.length - a.length);
}

/** A word without accents, in which recognisers differ; French plurals of numbers lose their s. */
export function foldedWord(word: string): string {
  if (/^[a-z0-9]*$/.test(word)) return /^(vingt|cent)s$/.test(word) ? word.slice(0, -1) : word;
  return withoutAccents(word);
}
