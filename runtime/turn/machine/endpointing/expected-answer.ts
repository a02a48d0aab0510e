/**
 * How complete are the caller's words for the answer that the agent expects? Says so only where the words
 * show it; everything else is judged as without an expectation. Linear in the words, of which it reads 400
 * characters at most.
 */
import { memoised } from '#base/memoised.ts';
import { type Expectation, hasOne } from '../../text/expectation.ts';
import { endsHanging, endsHesitating, MAIL_AT, MAIL_DOT } from '../../text/grammar-cues.ts';
import type { QuestionTexts } from '../../text/languages/language-texts.ts';
import { phrasesOf } from '../../text/made-of-phrases.ts';
import { bare, bareWords, normalised } from '../../text/normalised.ts';
import { questionTextsFor } from '../../text/phrases.ts';
import { spelledLetters } from '../../text/spelled-letters.ts';
import { type Fit, GOES_ON, roundedOff, SHORT_ANSWER_WORDS, withoutCourtesy } from './answer-fit.ts';
import { postalFit } from './expected-address.ts';
import { birthFit } from './expected-date.ts';
import { codeFit, numberFit } from './expected-number.ts';
import { spellingFit } from './expected-spelling.ts';

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

/** Judges words against the expectation; null: nothing can be said. */
export function fitOf(text: string, expectation: Expectation, language: string): Fit | null {
  const texts = questionTextsFor(language);
  if (texts === null || text.length > READ_CHARS) return null;
  const said = text.replaceAll('’', "'");
  const tokens = bareWords(said);
  // A caller who asks back does not answer.
  if (tokens.length === 0 || said.trimEnd().endsWith('?')) return null;
  if (expectation.kind !== 'yes_no' && isOtherwise(withoutExamples(tokens, expectation, texts), texts))
    return null;
  return roundedOff(fitOfKind(said, tokens, { expectation, texts, language }), tokens, texts);
}

interface Asked {
  readonly expectation: Expectation;
  readonly texts: QuestionTexts;
  readonly language: string;
}

function fitOfKind(
  said: string,
  tokens: readonly string[],
  { expectation, texts, language }: Asked,
): Fit | null {
  switch (expectation.kind) {
    case 'yes_no':
      return yesOrNo(said, expectation.isOffer, texts);
    case 'choice':
      return option(tokens, expectation.options, texts, language);
    case 'phone':
      return numberFit(tokens, null, texts, language);
    case 'digits':
      return numberFit(tokens, expectation.lengths, texts, language);
    case 'code':
      return codeFit(tokens, expectation.lengths, texts, language);
    case 'email':
      return address(said.toLowerCase(), texts, language);
    case 'spelling':
      return spellingFit(tokens, expectation.names, texts);
    case 'full_name':
      return fullName(tokens, texts, language);
    case 'birth':
      return birthFit(withoutCourtesy(tokens, texts), language);
    case 'postal':
      return postalFit(withoutCourtesy(tokens, texts), texts.postal, language);
    default:
      return expectation satisfies never;
  }
}

/** "V wie Viktor" asks nothing, though "wie" does. */
function withoutExamples(
  tokens: readonly string[],
  { kind }: Expectation,
  { asIn }: QuestionTexts,
): readonly string[] {
  const isSpelled = kind === 'spelling' || kind === 'code';
  return isSpelled ? spelledLetters(tokens, asIn).map(({ word }) => word) : tokens;
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
  // A no is often explained, with a courtesy as without one, but not where more help is declined.
  const isRounded = isOffer || kinds.has('surely') || kinds.has('closing');
  return isRounded ? { goesOn: GOES_ON.yesOrNo, note: 'expected yes or no, has it' } : null;
}

type AnswerKind = 'yes' | 'surely' | 'no' | 'closing' | 'courtesy';
interface Answers {
  /** Longest first. */
  readonly answers: readonly string[];
  readonly kindOf: ReadonlyMap<string, AnswerKind>;
}

const answersOf = memoised((texts: QuestionTexts): Answers => {
  const kindOf = new Map(
    (['yes', 'surely', 'no', 'closing', 'courtesy'] as const).flatMap((kind) =>
      texts[kind].split('|').map((phrase): [string, AnswerKind] => [normalised(phrase), kind]),
    ),
  );
  return { answers: [...kindOf.keys()].sort((a, b) => b.length - a.length), kindOf };
});

function option(
  tokens: readonly string[],
  options: readonly string[],
  texts: QuestionTexts,
  language: string,
): Fit | null {
  const words = withoutCourtesy(tokens, texts);
  const last = words.at(-1) ?? '';
  if (words.length > SHORT_ANSWER_WORDS || !options.includes(last)) return null;
  // "I would like to sit in" may go on, though "in" is one of "in or out".
  if (words.length > 1 && endsHanging(last, language)) return null;
  // "Yes, inside" may answer another question.
  if (hasOne(` ${words.join(' ')} `, texts.yes)) return null;
  const named = new Set(words.filter((word) => options.includes(word)));
  // "Pickup delivery" corrects itself and may do so again.
  return named.size === 1 ? { goesOn: GOES_ON.option, note: 'expected one of the options, has it' } : null;
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
  if (!ENDS_DOMAIN.test(domain) || (isOpen && !isRounded)) return null;
  const isClosed = isRounded || !TAKES_COUNTRY.test(domain) || TAKES_NONE.test(domain);
  const goesOn = isClosed ? GOES_ON.closedEmail : GOES_ON.email;
  return { goesOn, note: 'expected an e-mail address, has it' };
}

function fullName(tokens: readonly string[], texts: QuestionTexts, language: string): Fit | null {
  const [only = ''] = tokens;
  const isName = only.length > 1 && !answersOf(texts).kindOf.has(only) && !endsHesitating(only, language);
  if (tokens.length > 1 || !isName) return null;
  return { goesOn: GOES_ON.oneName, note: 'expected a full name, has one word' };
}
