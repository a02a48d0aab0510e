/**
 * Has the caller finished? Judged from the words alone, 200 ms after the end of speech and again with every change of the transcript.
 * Rules are scored from "surely not" (0) to "surely" (1); `eagerness` is the score that counts as finished. The time to wait is always counted from the end of speech.
 */
import type { TurnConfig } from './turn-config.ts';
import { USUAL_PAUSE_MS } from './turn-state.ts';

/** After this much silence the judgement is made, the recogniser asked to finalise, and speculation begins. */
export const JUDGE_AFTER_MS = 200;

/** How complete a turn looks, and by which rule. */
export interface Judgement {
  readonly rule: 'punctuation' | 'plain' | 'comma' | 'hesitation' | 'hanging_word' | 'half_number' | 'half_email' | 'spelling';
  readonly score: number;
}

/** Scores at and above these count as finished. */
const FINISHED_FROM = { eager: 0.25, balanced: 0.5, relaxed: 0.75 } as const satisfies Record<TurnConfig['eagerness'], number>;

/** The incomplete wait when `response_max_wait_ms` is null, in units of `response_wait_ms` (design §5). */
const INCOMPLETE_FACTOR = 2.5;
/** Largest value of `response_max_wait_ms` (supplement 2.3); no learned wait goes beyond it. */
const LONGEST_WAIT_MS = 4_000;

const HESITATIONS = new Set(['um', 'uh', 'uhm', 'er', 'erm', 'hmm', 'mm', 'äh', 'ähm', 'euh', 'eh', 'este', 'like', 'well']);

/** Words after which more is to come, per language: conjunctions, articles, prepositions, auxiliaries. */
const HANGING: Readonly<Record<string, ReadonlySet<string>>> = {
  en: words(
    "and or but so because if when that which who the a an my your his her our their to of for from with without into about in at on by as than is are was were am be i'm it's i he she we they and then maybe also not very",
  ),
  de: words(
    'und oder aber weil wenn dass der die das ein eine einen einem mein meine dein zu von für mit ohne in im an auf bei ist sind war ich wir noch nicht',
  ),
  fr: words("et ou mais parce que si quand le la les un une des mon ma mes ton de du pour avec sans dans à au en sur chez est sont c'est je nous ne"),
  es: words('y o pero porque si cuando que el la los las un una mi mis tu de del para por con sin en a al es son está estoy yo no'),
};

const DIGIT_WORDS = words(
  'zero oh one two three four five six seven eight nine ten null eins zwei drei vier fünf sechs sieben acht neun un deux trois quatre cinq sept huit neuf cero uno dos tres cuatro cinco seis siete ocho nueve double triple',
);
/** Lengths at which a dictated number is likely whole: national and international phone numbers, card numbers. */
const WHOLE_NUMBER_DIGITS = new Set([10, 11, 12, 16]);
/** Fewer digits are an answer of their own: a count, an hour. */
const SHORTEST_DICTATION = 3;

/** Judges a transcript. */
export function judge(text: string, language: string): Judgement {
  const trimmed = text.trim();
  const tokens = trimmed
    .toLowerCase()
    .split(/\s+/)
    .map(bare)
    .filter((token) => token !== '');
  return halfEmail(trimmed.toLowerCase(), tokens) ?? halfNumber(tokens) ?? spelling(tokens) ?? ending(trimmed, tokens, language);
}

function ending(text: string, tokens: readonly string[], language: string): Judgement {
  const last = tokens.at(-1) ?? '';
  if (/[.!?。！？؟।]["')\]]*$/u.test(text) && !/(\.\.\.|…)$/.test(text)) return { rule: 'punctuation', score: 0.9 };
  if (/(\.\.\.|…|-|–)$/.test(text) || HESITATIONS.has(last)) return { rule: 'hesitation', score: 0.2 };
  if (HANGING[language]?.has(last)) return { rule: 'hanging_word', score: 0.15 };
  if (/[,;:،、]$/.test(text)) return { rule: 'comma', score: 0.3 };
  return { rule: 'plain', score: 0.6 };
}

/** Ends inside a dictated number: three digits or more that do not make a usual length. */
function halfNumber(tokens: readonly string[]): Judgement | null {
  let digits = 0;
  let groups = 0;
  for (let index = tokens.length - 1; index >= 0; index--) {
    const token = tokens[index] ?? '';
    const count = DIGIT_WORDS.has(token) ? 1 : /^\+?[\d()-]+$/.test(token) ? token.replace(/\D/g, '').length : 0;
    if (count === 0) break;
    digits += count;
    groups += 1;
  }
  const isOneFigure = groups === 1 && digits <= 4;
  return digits >= SHORTEST_DICTATION && !isOneFigure && !WHOLE_NUMBER_DIGITS.has(digits) ? { rule: 'half_number', score: 0.1 } : null;
}

/** Ends inside a dictated e-mail address. */
function halfEmail(text: string, tokens: readonly string[]): Judgement | null {
  const isDictated = /@|\be-?mail\b|\bmail address\b|\bat (gmail|hotmail|yahoo|outlook|icloud)\b/.test(text);
  if (!isDictated) return null;
  const hasDomain = /(@|\bat\b|arroba|arobase)\s*\S+.*(\.|\b(dot|punkt|point|punto)\b\s*)[a-z]{2,}[.!?]?$/.test(text);
  const hangs = /(@|\.|\b(at|dot|underscore|dash|hyphen|arroba|arobase|punkt|point|punto))[.,]?$/.test(text);
  const isUnderWay = hangs || /@|\bat\b|arroba|arobase/.test(text) || /^(is|address)$/.test(tokens.at(-1) ?? '');
  return isUnderWay && !hasDomain ? { rule: 'half_email', score: 0.1 } : null;
}

/** Ends in single letters: a name being spelled. */
function spelling(tokens: readonly string[]): Judgement | null {
  const [last, before] = [tokens.at(-1) ?? '', tokens.at(-2) ?? ''];
  const isLetter = (token: string) => /^\p{L}$/u.test(token);
  return isLetter(last) && isLetter(before) ? { rule: 'spelling', score: 0.1 } : null;
}

/** How long after the end of speech a turn so judged is taken, in ms. */
export function waitMs(judgement: Judgement, config: TurnConfig, pauseMs: number): number {
  if (judgement.score >= FINISHED_FROM[config.eagerness]) return config.responseWaitMs;
  if (config.responseMaxWaitMs !== null) return Math.max(config.responseWaitMs, config.responseMaxWaitMs);
  const learned = Math.min(1.5, Math.max(0.75, pauseMs / USUAL_PAUSE_MS));
  return Math.min(LONGEST_WAIT_MS, Math.max(config.responseWaitMs, config.responseWaitMs * INCOMPLETE_FACTOR * learned));
}

/** The average of pauses after another one, kept within 200 to 2,000 ms. */
export function learnPause(averageMs: number, pauseMs: number): number {
  const bounded = Math.min(2_000, Math.max(200, pauseMs));
  return averageMs + 0.3 * (bounded - averageMs);
}

/** Words as they are compared: case, punctuation and spacing do not count. */
export function normalised(text: string): string {
  return text
    .toLowerCase()
    .split(/\s+/)
    .map(bare)
    .filter((token) => token !== '')
    .join(' ');
}

function bare(token: string): string {
  return token.replace(/^[^\p{L}\p{N}+@]+|[^\p{L}\p{N}@]+$/gu, '');
}

function words(list: string): ReadonlySet<string> {
  return new Set(list.split(' '));
}
