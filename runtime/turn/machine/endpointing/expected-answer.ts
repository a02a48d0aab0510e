/**
 * How complete are the caller's words for the answer that the agent expects? Says so only where the words
 * show it; everything else is judged as without an expectation. Linear in the words, of which it reads 400
 * characters at most.
 */
import { digitCount, digitOf, isNumeral } from '../../text/digit-words.ts';
import { type Expectation, hasOne, lengthsBy } from '../../text/expectation.ts';
import { endsHesitating, isFiller, MAIL_AT, MAIL_DOT } from '../../text/grammar-cues.ts';
import type { QuestionTexts } from '../../text/languages/language-texts.ts';
import { phrasesOf } from '../../text/made-of-phrases.ts';
import { bare, bareWords, normalised } from '../../text/normalised.ts';
import { numberWords } from '../../text/number-words.ts';
import { questionTextsFor, symbolsFor } from '../../text/phrases.ts';

/** The caller's words against what was expected. */
export interface Fit {
  /** Share of callers who say more after such words; null: more must follow. */
  readonly goesOn: number | null;
  /** For the record: "expected 10 digits, has 6". */
  readonly note: string;
}

/** How complete a turn looks, and the rule that says so. */
export interface Judgement {
  readonly rule:
    | 'punctuation'
    | 'plain'
    | 'comma'
    | 'hesitation'
    | 'hanging_word'
    | 'half_number'
    | 'local_number'
    | 'half_email'
    | 'spelling'
    | 'as_expected'
    | 'short_of_expected';
  readonly score: number;
  /** How the words fit what the agent asked for; absent if that says nothing. */
  readonly fit?: Fit;
}

/** Longer words are no short answer. */
const READ_CHARS = 400;
/** Words of a named option, with those around it: "I think the window, please". */
const OPTION_ANSWER_WORDS = 5;

/** Share of callers who go on after any words that look finished. */
export const USUALLY_GOES_ON = 0.2;
/**
 * The same after an answer that was asked for, cautious estimates: a whole number is hardly ever continued,
 * and neither is "that's correct". "Yes" and "yes, please" are not such answers: they may announce one.
 */
const GOES_ON = {
  number: 0.02,
  surely: 0.04,
  email: 0.08,
  option: 0.08,
  noMore: 0.08,
  /** One word of a full name: some callers have no other, or give no other. */
  oneName: 0.5,
} as const;

/** Judges words against the expectation; null: nothing can be said. */
export function fitOf(text: string, expectation: Expectation, language: string): Fit | null {
  const texts = questionTextsFor(language);
  if (texts === null || text.length > READ_CHARS) return null;
  const said = text.replaceAll('’', "'");
  const tokens = bareWords(said);
  // A caller who asks back does not answer.
  if (tokens.length === 0 || said.trimEnd().endsWith('?')) return null;
  if (expectation.kind !== 'yes_no' && isOtherwise(tokens, texts)) return null;
  switch (expectation.kind) {
    case 'yes_no':
      return yesOrNo(said, expectation.isOffer, texts);
    case 'choice':
      return option(tokens, expectation.options, texts);
    case 'phone':
      return number(tokens, null, texts, language);
    case 'digits':
      return number(tokens, expectation.lengths, texts, language);
    case 'email':
      return address(said.toLowerCase(), texts, language);
    case 'spelling':
      return spelledName(tokens);
    case 'full_name':
      return fullName(tokens, texts, language);
    case 'birth':
      return birthDate(tokens);
    default:
      return expectation satisfies never;
  }
}

/** Denies, corrects or asks back: "no, 4", "not delivery", "pardon". */
function isOtherwise(tokens: readonly string[], texts: QuestionTexts): boolean {
  const words = ` ${tokens.join(' ')} `;
  return hasOne(words, texts.no) || hasOne(words, texts.otherwise);
}

function yesOrNo(said: string, isOffer: boolean, texts: QuestionTexts): Fit | null {
  const { answers, kindOf } = answersOf(texts);
  const phrases = phrasesOf(normalised(said), answers);
  if (phrases === null) return null;
  const kinds = new Set(phrases.map((phrase) => kindOf.get(phrase)));
  const isYes = kinds.has('yes') || kinds.has('surely');
  // "That's all" declines an offer.
  const isNo = kinds.has('no') || (isOffer && kinds.has('closing'));
  // "No, right" and "thanks" are neither.
  if (isYes === isNo || (isYes && isOffer)) return null;
  const fits = (goesOn: number) => ({ goesOn, note: 'expected yes or no, has it' });
  // A no is often explained, with a courtesy as without one, but not where more help is declined.
  const isRounded = kinds.has('surely') || kinds.has('closing') || (kinds.has('courtesy') && isOffer);
  if (isRounded) return fits(GOES_ON.surely);
  return isOffer ? fits(GOES_ON.noMore) : null;
}

type AnswerKind = 'yes' | 'surely' | 'no' | 'closing' | 'courtesy';
interface Answers {
  /** Longest first. */
  readonly answers: readonly string[];
  readonly kindOf: ReadonlyMap<string, AnswerKind>;
}

const ANSWERS = new Map<QuestionTexts, Answers>();

function answersOf(texts: QuestionTexts): Answers {
  const known = ANSWERS.get(texts);
  if (known) return known;
  const kindOf = new Map(
    (['yes', 'surely', 'no', 'closing', 'courtesy'] as const).flatMap((kind) =>
      texts[kind].split('|').map((phrase): [string, AnswerKind] => [normalised(phrase), kind]),
    ),
  );
  const answers = [...kindOf.keys()].sort((a, b) => b.length - a.length);
  ANSWERS.set(texts, { answers, kindOf });
  return { answers, kindOf };
}

function option(tokens: readonly string[], options: readonly string[], texts: QuestionTexts): Fit | null {
  const words = withoutCourtesy(tokens, texts);
  if (words.length > OPTION_ANSWER_WORDS || !options.includes(words.at(-1) ?? '')) return null;
  // "Yes, inside" may answer another question.
  if (hasOne(` ${words.join(' ')} `, texts.yes)) return null;
  const named = new Set(words.filter((word) => options.includes(word)));
  // "Pickup delivery" corrects itself and may do so again.
  return named.size === 1 ? { goesOn: GOES_ON.option, note: 'expected one of the options, has it' } : null;
}

/** `lengths` null: those of a phone number with its first digits. */
function number(
  tokens: readonly string[],
  lengths: readonly number[] | null,
  texts: QuestionTexts,
  language: string,
): Fit | null {
  const words = withoutCourtesy(tokens, texts);
  const digits = dictatedDigits(words, language);
  if (digits === '' || digits.startsWith('+') || digits.startsWith('00')) return null;
  const whole = lengths ?? phoneLengths(digits, texts);
  const [least, most] = [whole[0], whole.at(-1)];
  if (least === undefined || most === undefined) return null;
  // "Double" announces a digit.
  const isAnnounced = digits.endsWith('?');
  const spoken = [...digits].findLastIndex((digit) => digit !== '?') + 1;
  const note = `expected ${least === most ? most : `${least} to ${most}`} digits, has ${spoken}`;
  if (isAnnounced) return { goesOn: null, note };
  // With other digits before them, these may correct, or be another number.
  const all = words.reduce((sum, token) => sum + digitCount(token, language), 0);
  if (digits.length === most && all === most && !isFiller(words.at(-1) ?? ''))
    return { goesOn: GOES_ON.number, note };
  // "I have one", "room 204" and "the one ending in 4567" begin nothing.
  return all < least && isDictated(words, texts, language) ? { goesOn: null, note } : null;
}

/** Only digits, after "it's" or "my number is" at most. */
function isDictated(words: readonly string[], texts: QuestionTexts, language: string): boolean {
  const isDigits = (word: string) => isFiller(word) || digitCount(word, language) > 0;
  const first = words.findIndex(isDigits);
  const before = ` ${words.slice(0, first).join(' ')} `;
  return (
    words.slice(first).every(isDigits) &&
    (first === 0 || texts.begins.split('|').some((phrase) => before.endsWith(` ${phrase} `)))
  );
}

/**
 * The digits at the end; `?` is one that is still to be named, as after "double". Sounds of hesitation may
 * interrupt them. Empty after words such as "thirty", whose digits are not counted, and for an international
 * number.
 */
function dictatedDigits(tokens: readonly string[], language: string): string {
  let digits = '';
  const plus = symbolsFor(language).plus;
  for (const token of tokens.toReversed()) {
    const count = digitCount(token, language);
    if (token === plus || largeNumbers(language).has(token)) return '';
    if (count === 0 && !isFiller(token)) break;
    if (count > 0) digits = writtenDigits(token, language, (digits[0] ?? '?').repeat(count)) + digits;
  }
  return digits;
}

/** The digits of a digit word, of several written as one word, or of a numeral; otherwise `repeated`. */
function writtenDigits(token: string, language: string, repeated: string): string {
  const digit = digitOf(token, language);
  if (digit !== null) return digit;
  if (isNumeral(token)) return token.replace(/[^\d+]/g, '');
  const letters = [...token].map((letter) => digitOf(letter, language));
  return letters.includes(null) ? repeated : letters.join('');
}

const LARGE_NUMBERS = new Map<string, ReadonlySet<string>>([
  [
    'en',
    new Set(
      (
        'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty ' +
        'forty fifty sixty seventy eighty ninety hundred thousand'
      ).split(' '),
    ),
  ],
]);

/** Words of the numbers from ten. */
function largeNumbers(language: string): ReadonlySet<string> {
  const known = LARGE_NUMBERS.get(language);
  if (known) return known;
  const words = new Set<string>();
  for (let value = 10; value <= 100; value++)
    for (const word of (numberWords(String(value), language) ?? '').split(' '))
      if (digitOf(word, language) === null) words.add(word);
  LARGE_NUMBERS.set(language, words);
  return words;
}

function phoneLengths(digits: string, texts: QuestionTexts): readonly number[] {
  const fitting = lengthsBy(texts.phoneLengths).filter(([beginning]) => digits.startsWith(beginning));
  const longest = fitting.toSorted(([a], [b]) => b.length - a.length)[0];
  return longest?.[1] ?? [];
}

/** Domains that end an address. */
const ENDS_DOMAIN =
  /\b(com|net|org|edu|gov|info|io|me|eu|de|at|ch|fr|be|es|it|pt|br|nl|uk|us|ca|mx|ar|au|nz)$/;

/** After these a country may follow, such as ".com.au". */
const TAKES_COUNTRY = /\b(com|net|org|edu|gov)$/;
/** Mailboxes that have one domain for all countries. */
const TAKES_NONE = /\b(gmail|icloud)\s*(\.|\bdot|\bpunto|\bponto)\s*com$/;
const WITH_COUNTRY = new Set(['en', 'es', 'pt']);
/** With more words "at" is a preposition: "my email address is anna smith at example". */
const DICTATED_WORDS = 8;
/** An address without its end ends in a name after "at": "anna at example". */
const AT_AND_NAME = 2;
/** No domain begins so: "I looked at it". */
const NO_DOMAIN = new Set(
  (
    'it its the that this these them him her all least once home work first last my your our a an ' +
    'night noon'
  ).split(' '),
);

function address(said: string, texts: QuestionTexts, language: string): Fit | null {
  const tokens = said.split(/\s+/).filter((token) => bare(token) !== '');
  const words = withoutCourtesy(tokens.map(bare), texts);
  const isRounded = words.length < tokens.length;
  const spoken = tokens.slice(0, words.length).join(' ');
  const at = spoken.search(MAIL_AT);
  if (at < 0 || words.some((word, index) => word === 'at' && NO_DOMAIN.has(words[index + 1] ?? '')))
    return null;
  const domain = spoken.slice(at).replace(/[.,!]$/, '');
  if (!MAIL_DOT.test(domain))
    return words.length <= DICTATED_WORDS && domain.split(/\s+/).length <= AT_AND_NAME
      ? { goesOn: null, note: 'expected an e-mail address, has no domain' }
      : null;
  const isOpen = WITH_COUNTRY.has(language) && TAKES_COUNTRY.test(domain) && !TAKES_NONE.test(domain);
  return ENDS_DOMAIN.test(domain) && (isRounded || !isOpen)
    ? { goesOn: GOES_ON.email, note: 'expected an e-mail address, has it' }
    : null;
}

function spelledName(tokens: readonly string[]): Fit | null {
  const letters = tokens.filter((token) => /^\p{L}$/u.test(token)).length;
  return letters === tokens.length && letters < 3
    ? { goesOn: null, note: `expected a spelled name, has ${letters === 1 ? 'one letter' : 'two letters'}` }
    : null;
}

function fullName(tokens: readonly string[], texts: QuestionTexts, language: string): Fit | null {
  const [only = ''] = tokens;
  const isName = only.length > 1 && !answersOf(texts).kindOf.has(only) && !endsHesitating(only, language);
  if (tokens.length > 1 || !isName) return null;
  return { goesOn: GOES_ON.oneName, note: 'expected a full name, has one word' };
}

/** Only dates in numerals: a recogniser that writes words leaves their order open. */
function birthDate(tokens: readonly string[]): Fit | null {
  const numerals = tokens.flatMap((token) => token.match(/\d+/g) ?? []);
  const digits = numerals.join('').length;
  if (numerals.length === 0) return null;
  const endsInYear = /(19|20)\d\d$/.test(tokens.at(-1) ?? '');
  if (endsInYear && digits > 4) return { goesOn: GOES_ON.number, note: 'expected a date of birth, has it' };
  // "March 5 85" and "5.3.85" have one of two digits.
  const hasPlaceForYear = numerals.length > 2 || (numerals.length === 2 && tokens.length > 2);
  return !endsInYear && !hasPlaceForYear && digits <= 4 && tokens.length <= OPTION_ANSWER_WORDS
    ? { goesOn: null, note: 'expected a date of birth, has no year' }
    : null;
}

function withoutCourtesy(tokens: readonly string[], texts: QuestionTexts): readonly string[] {
  const courtesies = texts.courtesy.split('|').map((phrase) => phrase.split(' '));
  let end = tokens.length;
  for (;;) {
    const courtesy = courtesies.find((words) =>
      words.every((word, index) => tokens[end - words.length + index] === word),
    );
    if (courtesy === undefined) return tokens.slice(0, end);
    end -= courtesy.length;
  }
}
