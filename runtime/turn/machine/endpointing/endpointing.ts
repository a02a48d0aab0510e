/**
 * Has the caller finished? Judged from the words alone, 200 ms after the end of speech and again with every
 * change of the transcript. Rules score from "surely not" (0) to "surely" (1); `eagerness` sets the score
 * that counts as finished. Waits are counted from the end of speech.
 */
import { compileLinearPattern } from '#base/linear-pattern.ts';
import type { Expectation } from '../../text/expectation.ts';
import {
  answersNo,
  endsHanging,
  endsHesitating,
  MAIL_AT,
  MAIL_DOT,
  MAIL_WORDS,
} from '../../text/grammar-cues.ts';
import { bareWords } from '../../text/normalised.ts';
import { numberGroups } from '../../text/spoken-numbers.ts';
import { JUDGE_AFTER_MS, type TurnConfig } from '../turn-config.ts';
import { USUAL_PAUSE_MS } from '../turn-state.ts';
import { type Fit, USUALLY_GOES_ON } from './answer-fit.ts';
import { fitOf, type Judgement } from './expected-answer.ts';
import { spellsNameBefore } from './expected-spelling.ts';

/** Scores from these up count as finished. */
const FINISHED_FROM = { eager: 0.25, balanced: 0.5, relaxed: 0.75 } as const satisfies Record<
  TurnConfig['eagerness'],
  number
>;

/** Wait for an incomplete turn when `response_max_wait_ms` is null, in units of `response_wait_ms`. */
const INCOMPLETE_FACTOR = 2.5;
/** The same after a hesitation or a word that leaves the sentence open: nearly all callers go on. */
const OPEN_FACTOR = 3;
/**
 * The same for an answer that lacks a part of what was asked for: the rest is looked up, or read from a card.
 */
const SHORT_ANSWER_FACTOR = 4.5;
/** Of `response_wait_ms`: who sets it high wants patience in every case. */
const LEAST_SHARE = 0.5;
/** How much the share of callers who go on counts. */
const PATIENCE = { eager: 0.5, balanced: 1, relaxed: 2 } as const satisfies Record<
  TurnConfig['eagerness'],
  number
>;
/** Largest value of `response_max_wait_ms`, and the limit of learned waits. */
const LONGEST_WAIT_MS = 4_000;

/** Shorter gaps are articulation: digits and consonants contain them. */
const SHORTEST_PAUSE_MS = 250;

/**
 * Lengths at which a dictated number is probably complete: national and international phone numbers, card
 * numbers.
 */
const WHOLE_NUMBER_DIGITS = new Set([10, 11, 12, 16]);
/** A phone number without its area code: complete if the recogniser heard its end. */
const LOCAL_NUMBER_DIGITS = 7;
/** Fewer digits are an answer, such as a count or an hour, unless each was said by itself: "five five". */
const SHORTEST_DICTATION = 3;
const SINGLE_DIGITS = 2;

/**
 * Words with these endings are unfinished whatever they contain. An answer may end in a word that leaves
 * others open: "punto es", "yes, it is".
 */
const UNFINISHED: ReadonlySet<Judgement['rule']> = new Set(['comma', 'hesitation', 'half_email']);

/** Judges a transcript, as an answer to what the agent expects, or else by itself. */
export function judgeAnswer(text: string, expects: Expectation | null, language: string): Judgement {
  const judgement = judgeCompleteness(text, language);
  const fit = expects && fitOf(text, expects, language);
  if (!fit) return judgement;
  if (fit.goesOn !== null && fit.goesOn < USUALLY_GOES_ON)
    return UNFINISHED.has(judgement.rule) || endsInComma(text)
      ? judgement
      : { rule: 'as_expected', score: 1, fit };
  // A number of one of several lengths: no more is known than after any words.
  if (fit.goesOn === USUALLY_GOES_ON)
    return judgement.rule === 'half_number' ? { rule: 'plain', score: 0.6, fit } : judgement;
  return judgement.rule === 'local_number' ? judgement : { rule: 'short_of_expected', score: 0, fit };
}

/** Judges a transcript by itself. */
export function judgeCompleteness(text: string, language: string): Judgement {
  const trimmed = text.trim();
  const tokens = bareWords(trimmed);
  const number = numberAtEnd(tokens, language);
  return (
    halfEmail(trimmed.slice(-MAIL_CHARS).toLowerCase().replace(/\s/g, ' '), tokens) ??
    dictated(trimmed, number) ??
    spelling(trimmed, tokens) ??
    ending(trimmed, tokens, number, language)
  );
}

function ending(text: string, tokens: readonly string[], number: NumberAtEnd, language: string): Judgement {
  const last = tokens.at(-1) ?? '';
  if (endsSentence(text)) return { rule: 'punctuation', score: 0.9 };
  if (/(\.\.\.|…|-|–)$/.test(text) || endsHesitating(last, language))
    return { rule: 'hesitation', score: 0.2 };
  // "No" answers by itself, though it leaves "yo no" open.
  const isAnswer = tokens.length === 1 && answersNo(last, language);
  // "Un" ends a number in French, though it leaves other words open.
  const isOpen = endsHanging(last, language) && number.groups < 2;
  if (isOpen && !isAnswer) return { rule: 'hanging_word', score: 0.15 };
  if (endsInComma(text)) return { rule: 'comma', score: 0.3 };
  return { rule: 'plain', score: 0.6 };
}

function endsInComma(text: string): boolean {
  return /[,;:،、]$/.test(text.trimEnd());
}

function endsSentence(text: string): boolean {
  return /[.!?。！？؟।]["')\]]*$/u.test(text) && !/(\.\.\.|…)$/.test(text);
}

/** The number that a text ends in. */
interface NumberAtEnd {
  readonly digits: number;
  readonly groups: number;
  /** Some of it are numbers from ten in words, which could also be counts. */
  readonly hasCounts: boolean;
  readonly startsWithZero: boolean;
}

/** Words at the end in which numbers and spelled names are looked for. */
const READ_TOKENS = 40;
/** "Deux cent quatre-vingt dix neuf" has as many words. */
const LONGEST_COUNT_TOKENS = 6;

function numberAtEnd(tokens: readonly string[], language: string): NumberAtEnd {
  // Most turns do not end in a number, which their last words show.
  const isNumber = numberGroups(tokens.slice(-LONGEST_COUNT_TOKENS), language).at(-1)?.digits !== '';
  const groups = isNumber ? numberGroups(tokens.slice(-READ_TOKENS), language) : [];
  const first = groups.findLastIndex(({ digits }) => digits === '') + 1;
  const number = groups.slice(first);
  return {
    digits: number.reduce((sum, { digits }) => sum + digits.replace('+', '').length, 0),
    groups: number.length,
    hasCounts: number.some(({ isCount }) => isCount),
    startsWithZero: number[0]?.digits.startsWith('0') ?? false,
  };
}

/**
 * Matches the end of a dictated number: three or more digits of an unusual length, digits that were said one
 * by one, or a number that may be complete without an area code. "Twenty twenty five" and "twelve thirty" are
 * none.
 */
function dictated(
  text: string,
  { digits, groups, hasCounts, startsWithZero }: NumberAtEnd,
): Judgement | null {
  const isOneFigure = groups === 1 && digits <= 4;
  const shortest = !hasCounts && groups === digits ? SINGLE_DIGITS : SHORTEST_DICTATION;
  const isOfCounts = hasCounts && (groups < COUNT_GROUPS || (digits < COUNT_DIGITS && !startsWithZero));
  if (digits < shortest || isOneFigure || isOfCounts || WHOLE_NUMBER_DIGITS.has(digits)) return null;
  return digits === LOCAL_NUMBER_DIGITS && endsSentence(text)
    ? { rule: 'local_number', score: 0.6 }
    : { rule: 'half_number', score: 0.1 };
}

/** Fewer numbers in words, or of fewer digits, are a date or an hour. */
const COUNT_GROUPS = 3;
const COUNT_DIGITS = 5;

/** Characters at the end of the text that are searched for a dictated address. */
const MAIL_CHARS = 1_000;
const HAS_DOMAIN = compileLinearPattern(
  `(${MAIL_AT.source})\\s*\\S+.*(${MAIL_DOT.source})\\s*[a-z]{2,}[.!?]?$`,
);
const HANGS = compileLinearPattern(
  `(${MAIL_AT.source}|${MAIL_DOT.source}|\\b(underscore|dash|hyphen))[.,]?$`,
);

/** Matches an incomplete dictated e-mail address. */
function halfEmail(text: string, tokens: readonly string[]): Judgement | null {
  if (!MAIL_WORDS.test(text)) return null;
  const isAnnounced = /^(is|address|ist|es|est|lautet|adresse)$/.test(tokens.at(-1) ?? '');
  const hasAt = MAIL_AT.test(text);
  const isUnderWay = hasAt || isAnnounced || (!text.endsWith('.') && HANGS.matcher(text).find());
  return isUnderWay && !HAS_DOMAIN.matcher(text).find() ? { rule: 'half_email', score: 0.1 } : null;
}

/** A single letter of a spelled name; an ideogram or syllable is a word. */
const LETTER =
  /^(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}])\p{L}$/u;

/** Matches single letters at the end: a name being spelled, unless they are all of a name before them. */
function spelling(text: string, tokens: readonly string[]): Judgement | null {
  if (!LETTER.test(tokens.at(-1) ?? '') || !LETTER.test(tokens.at(-2) ?? '')) return null;
  return spellsNameBefore(tokens.slice(-READ_TOKENS)) && !endsInComma(text)
    ? { rule: 'plain', score: 0.6 }
    : { rule: 'spelling', score: 0.1 };
}

/** Wait from the end of speech until the turn is taken, in ms. */
export function waitMs(judgement: Judgement, config: TurnConfig, pauseMs: number): number {
  const { responseWaitMs, responseMaxWaitMs } = config;
  const learned = Math.min(1.5, Math.max(0.75, pauseMs / USUAL_PAUSE_MS));
  if (judgement.score >= FINISHED_FROM[config.eagerness])
    return judgement.fit ? answerWaitMs(judgement.fit, config, learned) : responseWaitMs;
  if (responseMaxWaitMs !== null) return Math.max(responseWaitMs, responseMaxWaitMs);
  // Short pauses within a number say nothing about the next one, before which the caller may look it up.
  const pauses = judgement.fit?.goesOn === null ? Math.max(1, learned) : learned;
  return Math.min(LONGEST_WAIT_MS, Math.max(responseWaitMs, responseWaitMs * factorOf(judgement) * pauses));
}

function factorOf({ fit, rule }: Judgement): number {
  if (fit?.goesOn === null) return SHORT_ANSWER_FACTOR;
  return rule === 'hesitation' || rule === 'hanging_word' ? OPEN_FACTOR : INCOMPLETE_FACTOR;
}

/**
 * Wait after the answer that was asked for: between half of `response_wait_ms`, or the time of the judgement,
 * and all of it; the longer the more callers go on after it. An agent with one wait for everything keeps it.
 */
function answerWaitMs({ goesOn }: Fit, config: TurnConfig, learned: number): number {
  const { eagerness, responseMaxWaitMs, responseWaitMs } = config;
  const isOneWait = responseMaxWaitMs !== null && responseMaxWaitMs <= responseWaitMs;
  if (isOneWait || goesOn === null || goesOn >= USUALLY_GOES_ON) return responseWaitMs;
  const share = Math.min(1, (goesOn / USUALLY_GOES_ON) * PATIENCE[eagerness] * learned);
  const sharedMs = JUDGE_AFTER_MS + (responseWaitMs - JUDGE_AFTER_MS) * share;
  return Math.round(Math.max(sharedMs, responseWaitMs * LEAST_SHARE));
}

/**
 * The average pause after one more pause, which counts as 2,000 ms at most. Gaps within speech do not count.
 */
export function learnPause(averageMs: number, pauseMs: number): number {
  return pauseMs < SHORTEST_PAUSE_MS ? averageMs : averageMs + 0.3 * (Math.min(2_000, pauseMs) - averageMs);
}
