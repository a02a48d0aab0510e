/** Did the caller mean to interrupt? Judged from the words said while the agent spoke; pure. */
import { normalised } from '../../text/normalised.ts';
import { acknowledgementsFor } from '../../text/phrases.ts';
import { INTERRUPTION_VOICE_MS, type TurnConfig } from '../turn-config.ts';
import type { Speech } from '../turn-state.ts';

/** How long a paused agent waits for words before it goes on. */
export const FALSE_INTERRUPTION_MS = 900;
/** Voice that interrupts by itself where no words can come in time. */
export const WORDLESS_INTERRUPTION_MS = 700;

/** What words said over the agent are. `open`: could still become an ignorable phrase. */
export type OverlapJudgement = 'none' | 'ignore_phrase' | 'acknowledgement' | 'echo' | 'open' | 'words';

/**
 * Judges what was said over agent speech `spoken`. `isFinal` is false while the last words may still change.
 */
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
  const acknowledgements = config.sensitivity === 'high' ? [] : acknowledgementsFor(config.language);
  if (isMadeOf(said, acknowledgements)) return 'acknowledgement';
  if (isEcho(said, normalised(spoken))) return 'echo';
  if (!isFinal && [...ignored, ...acknowledgements].some((phrase) => phrase.startsWith(`${said} `)))
    return 'open';
  return 'words';
}

/** Normalised once: they are compared with every interim. */
const IGNORED = new WeakMap<readonly string[], readonly string[]>();

function ignoredOf({ ignorePhrases }: TurnConfig): readonly string[] {
  const known = IGNORED.get(ignorePhrases) ?? ignorePhrases.map(normalised);
  IGNORED.set(ignorePhrases, known);
  return known;
}

/** True when the words decide for going on as if nothing had been said. */
export function isIgnorable(judgement: OverlapJudgement): boolean {
  return judgement !== 'words';
}

/**
 * Speech too short to pause the agent is known by its words when it is over: "Stop." takes 200 ms. Two words
 * are meant; one is where enough voice stands behind it that `high` would have paused, but at `low` it is
 * talked through like a noise. Words the agent itself is saying may be its echo.
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

/** Scripts whose words are not parted by spaces. */
const UNSPACED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}ー]+$/u;

/** "Yeah, okay, right" is three acknowledgements; so is 「はい、はい、そうですね」. `phrases` are the longest first. */
function isMadeOf(said: string, phrases: readonly string[]): boolean {
  let rest = said;
  while (rest !== '') {
    const phrase = phrases.find(
      (candidate) =>
        rest === candidate ||
        rest.startsWith(`${candidate} `) ||
        (UNSPACED.test(candidate) && rest.startsWith(candidate)),
    );
    if (phrase === undefined) return false;
    rest = rest.slice(phrase.length).replace(/^[\s、。，]+/, '');
  }
  return true;
}

/** Most of three or more words stand in what the agent is saying: the caller's line gives it back. */
function isEcho(said: string, spoken: string): boolean {
  const tokens = said.split(' ');
  if (tokens.length < 3) return false;
  const played = new Set(spoken.split(' '));
  return (
    tokens.filter((token) => played.has(token)).length / tokens.length >= 0.8 &&
    spoken.includes(tokens.slice(0, 2).join(' '))
  );
}
