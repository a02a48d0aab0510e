/** Did the caller mean to interrupt? Judged from words spoken during agent speech. Pure. */
import { readAcknowledgement } from '../../text/acknowledgements.ts';
import { UNSPACED } from '../../text/made-of-phrases.ts';
import { normalised } from '../../text/normalised.ts';
import { INTERRUPTION_VOICE_MS, type TurnConfig } from '../turn-config.ts';
import type { Speech, Utterance } from '../turn-state.ts';
import { answersQuestion } from './answered-question.ts';

/**
 * Kind of words spoken over the agent. `open`: could still become an ignorable phrase. `answer`: a yes to
 * what the agent has just asked.
 */
export type OverlapJudgement =
  | 'none'
  | 'ignore_phrase'
  | 'acknowledgement'
  | 'answer'
  | 'echo'
  | 'open'
  | 'words';

/** Judges words spoken over agent speech `spoken`. `isFinal` is false while the last words may change. */
export function judgeOverlap(
  text: string,
  isFinal: boolean,
  spoken: string,
  config: TurnConfig,
): OverlapJudgement {
  const said = normalised(text);
  if (said === '') return 'none';
  const ignored = ignoredOf(config);
  if (ignored.includes(said)) return 'ignore_phrase';
  const read = config.sensitivity === 'high' ? 'other' : readAcknowledgement(text, config.language, said);
  if (read === 'whole') return 'acknowledgement';
  if (isEcho(said, normalised(spoken))) return 'echo';
  const isOpen = read === 'open' || ignored.some((phrase) => phrase.startsWith(`${said} `));
  return isOpen && !isFinal ? 'open' : 'words';
}

/** The words of a caller, and the speech that they belong to, if they were spoken. */
interface Said {
  readonly text: string;
  readonly isFinal: boolean;
  readonly speech: Speech | null;
}

/** The same, of words over an utterance: a yes to what the agent has just asked is an answer. */
export function judgeWordsOver(
  utterance: Utterance | null,
  { isFinal, speech, text }: Said,
  config: TurnConfig,
): OverlapJudgement {
  const judgement = judgeOverlap(text, isFinal, utterance?.text ?? '', config);
  const { language } = config;
  const isAnswer =
    judgement === 'acknowledgement' &&
    answersQuestion(text, utterance, { language, over: speech?.over ?? null });
  return isAnswer ? 'answer' : judgement;
}

/** True if the words are the agent's, returned by the line. */
export function echoes(text: string, spoken: string): boolean {
  return isEcho(normalised(text), normalised(spoken));
}

/** Normalised once, because they are compared with every interim. */
const IGNORED = new WeakMap<readonly string[], readonly string[]>();

function ignoredOf({ ignorePhrases }: TurnConfig): readonly string[] {
  const known = IGNORED.get(ignorePhrases) ?? ignorePhrases.map(normalised);
  IGNORED.set(ignorePhrases, known);
  return known;
}

/** True when the agent should continue as if nothing had been said. */
export function isIgnorable(judgement: OverlapJudgement): boolean {
  return judgement !== 'words' && judgement !== 'answer';
}

/**
 * Speech too short to pause the agent is judged by its words once it is over: "Stop." takes 200 ms. Two words
 * interrupt. One word does if its voice would have paused the agent at `high`, but not at `low`, which
 * ignores it like noise. Words the agent is saying may be its echo.
 */
export function isMeant(
  { voicedMs }: Speech,
  text: string,
  spoken: string,
  { sensitivity }: TurnConfig,
): boolean {
  const words = normalised(text).split(' ');
  if (words.length === 1 && (sensitivity === 'low' || voicedMs < INTERRUPTION_VOICE_MS.high)) return false;
  const played = normalised(spoken);
  return words.some(
    (word) => !(UNSPACED.test(word) ? played.includes(word) : ` ${played} `.includes(` ${word} `)),
  );
}

/** Most of three or more words match the agent's current words: the line returns an echo. */
function isEcho(said: string, spoken: string): boolean {
  const tokens = said.split(' ');
  if (tokens.length < 3) return false;
  const played = new Set(spoken.split(' '));
  return (
    tokens.filter((token) => played.has(token)).length / tokens.length >= 0.8 &&
    spoken.includes(tokens.slice(0, 2).join(' '))
  );
}
