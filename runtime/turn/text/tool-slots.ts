/**
 * The answers that an agent's questions expect, read from the arguments of its tools: "8 digits" in a
 * description, or `pattern`, `format` and `enum` of a JSON schema. A question asks for an argument if it
 * names it. Descriptions and schemas are texts of others: of each a limited part is read, in linear time.
 */
import { z } from 'zod';
import type { Expectation, Slot } from './expectation.ts';
import type { QuestionTexts } from './languages/language-texts.ts';
import { bareWords, normalised } from './normalised.ts';
import { questionTextsFor } from './phrases.ts';

/** An argument of a tool. */
export interface ToolArgument {
  readonly name: string;
  readonly description: string;
  /** Its JSON schema, if it has one. */
  readonly schema?: unknown;
}

/** Of all tools; the others are not read. */
const MOST_ARGUMENTS = 400;
const MOST_SLOTS = 40;
const READ_CHARS = 200;
const NAME_WORDS = 4;
const MOST_OPTIONS = 6;
/** Longer codes are not dictated. */
const MOST_CHARACTERS = 32;
/** A wider range says nothing about the end. */
const WIDEST_RANGE = 8;

/** Words before the name of a thing, which questions replace by "your". */
const OWNERS = new Set('customer caller client user'.split(' '));
/** By themselves these name nothing. */
const GENERAL = new Set('number code id identifier value name date type text input data'.split(' '));

const property = z.object({
  title: z.string().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  format: z.string().optional().catch(undefined),
  pattern: z.string().max(READ_CHARS).optional().catch(undefined),
  enum: z.array(z.string().max(READ_CHARS)).max(MOST_OPTIONS).optional().catch(undefined),
});
type Property = Partial<z.output<typeof property>>;
const objectSchema = z.object({ properties: z.record(z.string(), z.unknown()) });

/** The arguments that a JSON schema of an object describes; none for anything else. */
export function argumentsOfSchema(schema: unknown): readonly ToolArgument[] {
  const parsed = objectSchema.safeParse(schema);
  if (!parsed.success) return [];
  return Object.entries(parsed.data.properties)
    .slice(0, MOST_SLOTS)
    .map(([name, each]) => {
      const read = property.safeParse(each);
      return { name, description: (read.success && read.data.description) || '', schema: each };
    });
}

/** The arguments whose answers can be recognised, for an agent that speaks `language`. */
export function slotsOf(args: readonly ToolArgument[], language: string): readonly Slot[] {
  const texts = questionTextsFor(language);
  if (texts === null) return [];
  return args
    .slice(0, MOST_ARGUMENTS)
    .flatMap((argument): readonly Slot[] => {
      const parsed = property.safeParse(argument.schema ?? {});
      const schema: Property = parsed.success ? parsed.data : {};
      const description = argument.description.slice(0, READ_CHARS);
      const expects = expectsBySchema(schema) ?? expectsByDescription(description, texts);
      const names = expects === null ? [] : namesOf(argument.name, schema.title ?? '', description, texts);
      return expects === null || names.length === 0 ? [] : [{ names, expects }];
    })
    .slice(0, MOST_SLOTS);
}

function expectsBySchema({ enum: values, format, pattern }: Property): Expectation | null {
  if (values !== undefined) return choiceOf(values);
  if (format === 'email') return { kind: 'email' };
  if (format === 'phone' || format === 'tel') return { kind: 'phone' };
  // A date is written in digits and said in words.
  if (format !== undefined) return null;
  const code = pattern === undefined ? null : codeOf(pattern);
  if (code === null) return null;
  const lengths = lengthsBetween(code.least, code.most);
  return lengths === null ? null : { kind: code.isDigits ? 'digits' : 'code', lengths };
}

/** One of these texts, of which callers may say the last word only; null if that is not clear. */
export function choiceOf(values: readonly string[]): Expectation | null {
  const options = values.map((value) => wordsOf(value).at(-1) ?? '');
  const isClear = options.length > 1 && new Set(options).size === options.length && !options.includes('');
  return isClear ? { kind: 'choice', options } : null;
}

/** One or two characters are words of other answers, too. */
const FEWEST_CHARACTERS = 3;

/** All lengths of a number or a code; null if it is not dictated, or its end would not show. */
export function lengthsBetween(least: number, most: number): readonly number[] | null {
  const isUsable = least >= FEWEST_CHARACTERS && most >= least && most <= MOST_CHARACTERS;
  if (!isUsable || most - least > WIDEST_RANGE) return null;
  return Array.from({ length: most - least + 1 }, (_, index) => least + index);
}

/** A number after these is a bound: "up to 8 digits", "mindestens 6 Ziffern". */
const BOUNDS = new Set(
  (
    'to most least than max maximum min minimum zu höchstens mindestens maximal plus moins hasta máximo ' +
    'mínimo más menos massimo minimo almeno maximaal minimaal tot até mais'
  ).split(' '),
);

/** "8 digits", "8-digit", "6 to 8 digits", in English and the agent's language. */
function expectsByDescription(description: string, { digits }: QuestionTexts): Expectation | null {
  const units = new Set(`${digits}|digits|digit`.split('|'));
  const tokens = bareWords(description.replace(/[-–]/g, ' '));
  const at = tokens.findIndex((token) => units.has(token));
  const before = tokens.slice(Math.max(0, at - NUMBER_WORDS), Math.max(0, at));
  const isNumber = (token: string) => /^\d{1,2}$/.test(token);
  const numbers = before.filter(isNumber).map(Number);
  const first = Math.max(0, before.findIndex(isNumber));
  if (before.slice(0, first).some((token) => BOUNDS.has(token))) return null;
  const [least, most = least] = numbers;
  if (least === undefined || most === undefined || numbers.length > 2) return null;
  const lengths = lengthsBetween(least, most);
  return lengths === null ? null : { kind: 'digits', lengths };
}

/** "6 to 8 digits". */
const NUMBER_WORDS = 3;

function namesOf(name: string, title: string, description: string, texts: QuestionTexts): readonly string[] {
  const leads = new Set(texts.leads.split('|'));
  const [head = ''] = description.split(/[(.,;:–]/, 1);
  const phrases = [name, title, head].map((text) => {
    const words = wordsOf(text);
    const first = words.findIndex((word) => !leads.has(word) && !isOwner(word));
    return first < 0 ? [] : words.slice(first);
  });
  const usable = phrases.filter(
    (words) =>
      words.length > 0 && words.length <= NAME_WORDS && !(words.length === 1 && GENERAL.has(words[0] ?? '')),
  );
  return [...new Set(usable.map((words) => words.join(' ')))];
}

function isOwner(word: string): boolean {
  return OWNERS.has(word) || word.endsWith("'s");
}

/** The words of a text, or of an identifier such as `memberNumber` or `member_number`. */
function wordsOf(text: string): readonly string[] {
  const spaced = text
    .slice(0, READ_CHARS)
    .replaceAll('’', "'")
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/[_.]/g, ' ');
  const words = normalised(spaced);
  return words === '' ? [] : words.split(' ');
}

interface Code {
  readonly least: number;
  readonly most: number;
  readonly isDigits: boolean;
}

/** One character of a pattern, or a mark between characters. */
const CHARACTER =
  /(?<digit>\\d|\[[\d-]+\])|(?<letter>\\w|\[[A-Za-z\d-]+\])|(?<fixed>[A-Za-z\d])|(?<mark>\\?[-/ ]|\\s)/y;
/** How often it occurs. */
const TIMES = /\{(?<from>\d{1,2})(?:,(?<to>\d{1,2}))?\}|\?/y;

/**
 * How many characters a pattern permits, such as `^[A-Z]{2}\d{6}$`; null if it is not a plain sequence. Fixed
 * letters and marks may be left out by callers.
 */
function codeOf(pattern: string): Code | null {
  const sequence = pattern.replace(/^\^/, '').replace(/\$$/, '');
  let code: Code = { least: 0, most: 0, isDigits: true };
  for (let at = 0; at < sequence.length; ) {
    const character = matchAt(CHARACTER, sequence, at);
    if (character === null) return null;
    at += character[0].length;
    const times = matchAt(TIMES, sequence, at);
    at += times?.[0].length ?? 0;
    code = extended(code, character.groups ?? {}, times);
  }
  return code;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function extended(
  { isDigits, least, most }: Code,
  { digit, fixed, mark }: Record<string, string | undefined>,
  times: RegExpExecArray | null,
): Code {
  if (mark !== undefined) return { isDigits, least, most };
  const isOptional = times?.[0] === '?';
  const from = isOptional ? 0 : Number(times?.groups?.['from'] ?? 1);
  const to = isOptional ? 1 : Number(times?.groups?.['to'] ?? from);
  return {
    isDigits: isDigits && (digit !== undefined || /^\d$/.test(fixed ?? '')),
    least: least + (fixed === undefined ? from : 0),
    most: most + to,
  };
}
