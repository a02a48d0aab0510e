/**
 * The answer that the agent's last words expect, derived once from each reply, from its last question.
 * Without certainty nothing is expected, and the caller's words are judged by themselves.
 */
import { readAcknowledgement } from './acknowledgements.ts';
import { digitOf } from './digit-words.ts';
import type { QuestionTexts } from './languages/language-texts.ts';
import { bare, bareWords, normalised } from './normalised.ts';
import { questionTextsFor } from './phrases.ts';
import { namesIn } from './spelled-letters.ts';

/** The kind of answer that a reply asks for. */
export type Expectation =
  /** An offer of more help: "no, thanks" declines it, where it is often explained otherwise. */
  | { readonly kind: 'yes_no'; readonly isOffer: boolean }
  | { readonly kind: 'choice'; readonly options: readonly string[] }
  | { readonly kind: 'phone' }
  /** Numbers of digits that may be complete, ascending. */
  | { readonly kind: 'digits'; readonly lengths: readonly number[] }
  /** Letters and digits; numbers of both that may be complete, ascending. */
  | { readonly kind: 'code'; readonly lengths: readonly number[] }
  /** Names that were said before, without accents. */
  | { readonly kind: 'spelling'; readonly names: readonly string[] }
  | { readonly kind: 'email' | 'full_name' | 'birth' | 'postal' };

/** An argument of the agent's tools, which a question may ask for. */
export interface Slot {
  /** Phrases that name it in a question, in the form in which words are compared. */
  readonly names: readonly string[];
  readonly expects: Expectation;
}

/** Facts besides the reply, by which an expectation is judged. */
export interface ReplyContext {
  /** The caller's words before it. */
  readonly said?: string;
  readonly slots?: readonly Slot[];
}

interface Asker {
  readonly language: string;
  readonly texts: QuestionTexts;
  readonly slots: readonly Slot[];
}

/** Characters at the end of the reply that are searched. */
const SEARCHED_CHARS = 400;
/** A question with as many digits tells a number: "555 1234, is that right?" */
const READ_BACK_DIGITS = 3;
/** An option with more words is a question of its own. */
const OPTION_WORDS = 4;
const MOST_OPTIONS = 6;

/** The answer that a reply expects; null: any, several, or unknown. */
export function expectationOf(
  reply: string,
  language: string,
  { said = '', slots = [] }: ReplyContext = {},
): Expectation | null {
  const texts = questionTextsFor(language);
  if (texts === null) return null;
  const asker: Asker = { language, texts, slots };
  const sentence = onlyQuestion(reply.slice(-SEARCHED_CHARS).replaceAll('’', "'"), asker);
  if (sentence === null) return null;
  const words = ` ${normalised(sentence)} `;
  const isQuestion = asks(sentence);
  if ((!isQuestion && !hasOne(words, texts.requests)) || hasOne(words, texts.several)) return null;
  // A number or an address in the question is read back, and the answer to that is yes or no.
  const readsBack = sentence.replace(/\D/g, '').length >= READ_BACK_DIGITS || sentence.includes('@');
  const things = readsBack && isQuestion ? [] : thingsIn(words, asker);
  if (things.length === 0) return yesNoOrChoice(sentence, words, texts);
  const expects = theOne(things, { sentence, words, isQuestion }, asker);
  if (expects === null && things.every(({ isOftenNamed }) => isOftenNamed))
    return yesNoOrChoice(sentence, words, texts);
  return expects && withNames(expects, reply, said);
}

/** Adds the names that may be spelled, of the reply and of the caller's words before it. */
export function withNames(expects: Expectation, reply: string, said: string): Expectation {
  return expects.kind === 'spelling' ? { ...expects, names: namesSaid(reply, said) } : expects;
}

function yesNoOrChoice(sentence: string, words: string, texts: QuestionTexts): Expectation | null {
  const options = optionsOf(sentence, texts);
  const isOpen = hasOne(words, texts.open);
  const isOffer = hasOne(words, texts.offers);
  if (options !== null) return isOpen || isOffer || isJoint(words, texts) ? null : choice(options, texts);
  return asks(sentence) && !isOpen ? { kind: 'yes_no', isOffer } : null;
}

/**
 * The last question, if at most one sentence follows it, or the request that it refers back to; otherwise the
 * last sentence. Null if the reply asks for anything besides.
 */
function onlyQuestion(reply: string, asker: Asker): string | null {
  const [last = '', before = '', ...earlier] = reply
    .trim()
    .split(/(?<=[.!?])\s+/)
    .reverse();
  const isBefore = !asks(last) && asks(before);
  const refersBack = asksBack(last, before, asker);
  const preceding = isBefore || refersBack ? earlier : [before, ...earlier];
  if (preceding.some((sentence) => asks(sentence) || requestsThing(sentence, asker))) return null;
  if (refersBack) return before;
  if (!isBefore) return last;
  if (asksForAddress(before, last, asker)) return last;
  return goesOn(last, asker) ? null : before;
}

/** A longer question asks for something of its own. */
const ASKS_BACK_WORDS = 8;

/** "I need your order number. Could you read it to me?" */
function asksBack(question: string, request: string, asker: Asker): boolean {
  if (!asks(question) || asks(request) || !requestsThing(request, asker)) return false;
  const words = ` ${normalised(question)} `;
  const isShort = words.trim().split(' ').length <= ASKS_BACK_WORDS;
  const isOwn = thingsIn(words, asker).length > 0 || optionsOf(question, asker.texts) !== null;
  return isShort && !isOwn && !hasOne(words, asker.texts.about);
}

/** "Where should we deliver it? I need your address." */
function asksForAddress(question: string, request: string, asker: Asker): boolean {
  const [asked, requested] = [question, request].map((sentence) => ` ${normalised(sentence)} `);
  const { open, requests } = asker.texts;
  if (!hasOne(asked ?? '', open) || !hasOne(requested ?? '', requests)) return false;
  const things = thingsIn(requested ?? '', asker);
  const isAddress = things.length > 0 && things.every(({ expects }) => expects.kind === 'postal');
  return isAddress && thingsIn(asked ?? '', asker).length === 0;
}

function asks(sentence: string): boolean {
  return /\?["')\]]?$/.test(sentence.trim());
}

function requestsThing(sentence: string, asker: Asker): boolean {
  const words = ` ${normalised(sentence)} `;
  return hasOne(words, asker.texts.requests) && thingsIn(words, asker).length > 0;
}

/** The sentence after a question changes it: "Please also tell me your phone number." */
function goesOn(sentence: string, asker: Asker): boolean {
  const words = ` ${normalised(sentence)} `;
  const { open, or, requests, several } = asker.texts;
  return (
    [open, or, requests, several].some((phrases) => hasOne(words, phrases)) ||
    thingsIn(words, asker).length > 0
  );
}

/** A thing that can be asked for, such as a phone number, and the word by which a sentence names it. */
interface Thing {
  readonly expects: Expectation;
  readonly name: string;
  /** Questions that ask for yes or no name it too: "Is that your member number?" */
  readonly isOftenNamed?: boolean;
}

function thingsIn(words: string, { language, slots, texts }: Asker): readonly Thing[] {
  const named = (phrases: string, expects: Expectation): Thing[] => {
    const name = longestIn(words, phrases.split('|'));
    return name === undefined ? [] : [{ expects, name }];
  };
  const number = lengthsBy(texts.numbers).find(([name]) => words.includes(` ${name} `));
  const counted = countedDigits(words, texts, language);
  const numbers = [
    ...named(texts.phone, { kind: 'phone' }),
    ...(number ? [{ expects: { kind: 'digits' as const, lengths: number[1] }, name: number[0] }] : []),
  ];
  const emails = named(texts.email, { kind: 'email' });
  // "Votre adresse e-mail" is no postal address.
  const addresses =
    emails.length > 0
      ? emails
      : named(texts.postal.names, { kind: 'postal' }).map((thing) => ({ ...thing, isOftenNamed: true }));
  const things: readonly Thing[] = [
    // "The last four digits of your phone number."
    ...(counted.length > 0 ? counted : numbers),
    ...named(texts.spelling, { kind: 'spelling', names: [] }),
    ...addresses,
    ...named(texts.fullName, { kind: 'full_name' }),
    ...named(texts.birth, { kind: 'birth' }),
  ];
  return things.length > 0 ? things : slotsIn(words, slots);
}

/** "Email address" rather than "email": the words before the name are looked at. */
function longestIn(words: string, names: readonly string[]): string | undefined {
  return names.filter((name) => words.includes(` ${name} `)).sort((a, b) => b.length - a.length)[0];
}

/** The arguments that are named; of two names the longer, so that "order" is not in "order number". */
function slotsIn(words: string, slots: readonly Slot[]): readonly Thing[] {
  const named = slots.flatMap(({ names, expects }): readonly Thing[] => {
    const name = longestIn(words, names);
    return name === undefined ? [] : [{ expects, name, isOftenNamed: true }];
  });
  const apart = named.filter(
    ({ name }, index) =>
      !named.some((other, at) => at !== index && other.name !== name && other.name.includes(name)),
  );
  return apart.filter(({ name }, index) => apart.findIndex((other) => other.name === name) === index);
}

/** Words that may be the name to be spelled: capitalised ones of the reply, and all that the caller said. */
function namesSaid(reply: string, said: string): readonly string[] {
  const capitalised = reply.split(/\s+/).filter((word) => /^[^\p{L}]?\p{Lu}/u.test(word));
  return [...namesIn([...capitalised, ...bareWords(said.slice(-SEARCHED_CHARS))])];
}

/** "The last four digits", "les quatre derniers chiffres". */
function countedDigits(words: string, texts: QuestionTexts, language: string): readonly Thing[] {
  const tokens = words
    .replaceAll('-', ' ')
    // "Achtstellig" is "acht Stellen".
    .replace(/(?<=\S)(?=stellige?[nrs]? )/, ' ')
    .trim()
    .split(' ');
  const at = tokens.findIndex((token) => texts.digits.split('|').includes(token));
  if (at < 0) return [];
  const lengths = tokens
    .slice(Math.max(0, at - 2), at)
    .flatMap((token) => (/^1?\d$/.test(token) ? [Number(token)] : Number(digitOf(token, language) ?? 0)))
    .filter((count) => count > 1);
  return lengths.length === 1 ? [{ expects: { kind: 'digits', lengths }, name: tokens[at] ?? '' }] : [];
}

interface Asked {
  readonly sentence: string;
  /** Its words, with a space around. */
  readonly words: string;
  readonly isQuestion: boolean;
}

/** The thing that is asked for; null if there are several, or the question is only about it. */
function theOne(
  things: readonly Thing[],
  { sentence, words, isQuestion }: Asked,
  { language, texts }: Asker,
): Expectation | null {
  const [thing] = things;
  if (thing === undefined || things.length > 1 || hasOne(words, texts.about)) return null;
  const asked = ` ${normalised(withoutAcknowledgements(sentence, language))} `;
  const others = texts.fullName.split('|').reduce((rest, name) => rest.replace(` ${name} `, ' '), asked);
  if (isJoint(others, texts) || hasOne(others, texts.or)) return null;
  const before = asked.replaceAll('-', ' ').split(` ${thing.name.replaceAll('-', ' ')} `, 1)[0] ?? '';
  const isBare = before
    .split(' ')
    .every((word) => hasOne(` ${word} `, texts.leads) || /^\d*$/.test(word) || digitOf(word, language));
  // "Did you get our email?" asks for none.
  const isAskedFor = !isQuestion || isBare || hasOne(words, texts.open) || thing.expects.kind === 'spelling';
  return isAskedFor ? thing.expects : null;
}

/** "Very good, thank you, and your number?" asks for one thing. */
function withoutAcknowledgements(sentence: string, language: string): string {
  const clauses = sentence.split(/(?<=[,;:])/);
  const first = clauses.findIndex((clause) => readAcknowledgement(clause, language) === 'other');
  return clauses.slice(Math.max(0, first)).join('');
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
