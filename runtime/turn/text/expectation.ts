/**
 * The answer that the agent's last words expect, derived once from each reply, from its last question.
 * Without certainty nothing is expected, and the caller's words are judged by themselves.
 */
import { digitOf } from './digit-words.ts';
import type { QuestionTexts } from './languages/language-texts.ts';
import { bare, normalised } from './normalised.ts';
import { questionTextsFor } from './phrases.ts';

/** The kind of answer that a reply asks for. */
export type Expectation =
  /** An offer of more help: "no, thanks" declines it, where it is often explained otherwise. */
  | { readonly kind: 'yes_no'; readonly isOffer: boolean }
  | { readonly kind: 'choice'; readonly options: readonly string[] }
  | { readonly kind: 'phone' }
  /** Numbers of digits that may be complete, ascending. */
  | { readonly kind: 'digits'; readonly lengths: readonly number[] }
  | { readonly kind: 'email' | 'spelling' | 'full_name' | 'birth' };

/** Characters at the end of the reply that are searched. */
const SEARCHED_CHARS = 400;
/** A question with as many digits tells a number: "555 1234, is that right?" */
const READ_BACK_DIGITS = 3;
/** An option with more words is a question of its own. */
const OPTION_WORDS = 4;
const MOST_OPTIONS = 6;

/** The answer that a reply expects; null: any, several, or unknown. */
export function expectationOf(reply: string, language: string): Expectation | null {
  const texts = questionTextsFor(language);
  if (texts === null) return null;
  const sentence = onlyQuestion(reply.slice(-SEARCHED_CHARS).replaceAll('’', "'"), texts, language);
  if (sentence === null) return null;
  const words = ` ${normalised(sentence)} `;
  const isQuestion = asks(sentence);
  if ((!isQuestion && !hasOne(words, texts.requests)) || hasOne(words, texts.several)) return null;
  // A number or an address in the question is read back, and the answer to that is yes or no.
  const readsBack = sentence.replace(/\D/g, '').length >= READ_BACK_DIGITS || sentence.includes('@');
  const things = readsBack && isQuestion ? [] : thingsIn(words, texts, language);
  if (things.length > 0) return theOne(things, { words, isQuestion }, texts, language);
  const options = optionsOf(sentence, texts);
  const isOpen = hasOne(words, texts.open);
  const isOffer = hasOne(words, texts.offers);
  if (options !== null) return isOpen || isOffer || isJoint(words, texts) ? null : choice(options, texts);
  return isQuestion && !isOpen ? { kind: 'yes_no', isOffer } : null;
}

/**
 * The last question, if at most one sentence follows it; otherwise the last sentence. Null if the reply asks
 * for anything besides.
 */
function onlyQuestion(reply: string, texts: QuestionTexts, language: string): string | null {
  const [last = '', before = '', ...earlier] = reply
    .trim()
    .split(/(?<=[.!?])\s+/)
    .reverse();
  const isBefore = !asks(last) && asks(before);
  const preceding = isBefore ? earlier : [before, ...earlier];
  if (preceding.some((sentence) => asks(sentence) || requestsThing(sentence, texts, language))) return null;
  if (!isBefore) return last;
  return goesOn(last, texts, language) ? null : before;
}

function asks(sentence: string): boolean {
  return /\?["')\]]?$/.test(sentence.trim());
}

function requestsThing(sentence: string, texts: QuestionTexts, language: string): boolean {
  const words = ` ${normalised(sentence)} `;
  return hasOne(words, texts.requests) && thingsIn(words, texts, language).length > 0;
}

/** The sentence after a question changes it: "Please also tell me your phone number." */
function goesOn(sentence: string, texts: QuestionTexts, language: string): boolean {
  const words = ` ${normalised(sentence)} `;
  const { open, or, requests, several } = texts;
  return (
    [open, or, requests, several].some((phrases) => hasOne(words, phrases)) ||
    thingsIn(words, texts, language).length > 0
  );
}

/** A thing that can be asked for, such as a phone number, and the word by which a sentence names it. */
interface Thing {
  readonly expects: Expectation;
  readonly name: string;
}

function thingsIn(words: string, texts: QuestionTexts, language: string): readonly Thing[] {
  const named = (phrases: string, expects: Expectation): Thing[] => {
    const name = phrases.split('|').find((phrase) => words.includes(` ${phrase} `));
    return name === undefined ? [] : [{ expects, name }];
  };
  const number = lengthsBy(texts.numbers).find(([name]) => words.includes(` ${name} `));
  const counted = countedDigits(words, texts, language);
  const numbers = [
    ...named(texts.phone, { kind: 'phone' }),
    ...(number ? [{ expects: { kind: 'digits' as const, lengths: number[1] }, name: number[0] }] : []),
  ];
  return [
    // "The last four digits of your phone number."
    ...(counted.length > 0 ? counted : numbers),
    ...named(texts.spelling, { kind: 'spelling' }),
    ...named(texts.email, { kind: 'email' }),
    ...named(texts.fullName, { kind: 'full_name' }),
    ...named(texts.birth, { kind: 'birth' }),
  ];
}

/** "The last four digits", "les quatre derniers chiffres". */
function countedDigits(words: string, texts: QuestionTexts, language: string): readonly Thing[] {
  const tokens = words.replaceAll('-', ' ').trim().split(' ');
  const at = tokens.findIndex((token) => texts.digits.split('|').includes(token));
  if (at < 0) return [];
  const lengths = tokens
    .slice(Math.max(0, at - 2), at)
    .flatMap((token) => (/^1?\d$/.test(token) ? [Number(token)] : Number(digitOf(token, language) ?? 0)))
    .filter((count) => count > 1);
  return lengths.length === 1 ? [{ expects: { kind: 'digits', lengths }, name: tokens[at] ?? '' }] : [];
}

/** The thing that is asked for; null if there are several, or the question is only about it. */
function theOne(
  things: readonly Thing[],
  { words, isQuestion }: { readonly words: string; readonly isQuestion: boolean },
  texts: QuestionTexts,
  language: string,
): Expectation | null {
  const [thing] = things;
  if (thing === undefined || things.length > 1 || hasOne(words, texts.about)) return null;
  const others = texts.fullName.split('|').reduce((rest, name) => rest.replace(` ${name} `, ' '), words);
  if (isJoint(others, texts) || hasOne(others, texts.or)) return null;
  const before = words.replaceAll('-', ' ').split(` ${thing.name.replaceAll('-', ' ')} `, 1)[0] ?? '';
  const isBare = before
    .split(' ')
    .every((word) => hasOne(` ${word} `, texts.leads) || /^\d*$/.test(word) || digitOf(word, language));
  // "Did you get our email?" asks for none.
  const isAskedFor = !isQuestion || isBare || hasOne(words, texts.open) || thing.expects.kind === 'spelling';
  return isAskedFor ? thing.expects : null;
}

/** Joins two things: "your phone number and email". At the beginning it joins sentences. */
function isJoint(words: string, texts: QuestionTexts): boolean {
  return hasOne(words.replace(/^ \S+/, ''), texts.joins);
}

/** The last word of each option; empty if there are too many, or the last one is a question of its own. */
function optionsOf(sentence: string, texts: QuestionTexts): readonly string[] | null {
  const tokens = sentence
    .toLowerCase()
    .split(/\s+/)
    .filter((token) => bare(token) !== '');
  const or = tokens.findLastIndex((token) => texts.or.split('|').includes(bare(token)));
  if (or < 1) return null;
  const last = tokens.slice(or + 1).map(bare);
  if (last.length === 0 || last.length > OPTION_WORDS) return [];
  const before = tokens.slice(0, or).flatMap((token, index) => {
    const isLastOfOption =
      index === or - 1 || token.endsWith(',') || bare(tokens[index + 1] ?? '') === bare(tokens[or] ?? '');
    return isLastOfOption ? [bare(token)] : [];
  });
  const options = [...before, ...last.slice(-1)];
  return options.length > MOST_OPTIONS ? [] : options;
}

function choice(options: readonly string[], texts: QuestionTexts): Expectation | null {
  if (options.length === 0) return null;
  // "A member number or a policy number": the word does not say which, or announces it.
  if (new Set(options).size < options.length || options.some((word) => hasOne(` ${word} `, texts.announces)))
    return null;
  const named = options.filter((option) => !`|${texts.yes}|${texts.no}|`.includes(`|${option}|`));
  return named.length === 0 ? { kind: 'yes_no', isOffer: false } : { kind: 'choice', options: named };
}

/** `words` with a space around. */
export function hasOne(words: string, phrases: string): boolean {
  return phrases.split('|').some((phrase) => words.includes(` ${phrase} `));
}

/** Reads `zip code=5|cep=7,8`. */
export function lengthsBy(list: string): readonly (readonly [string, readonly number[]])[] {
  if (list === '') return [];
  return list.split('|').map((entry) => {
    const [name = '', lengths = ''] = entry.split('=');
    return [name, lengths.split(',').map(Number)];
  });
}
