/**
 * The silences of a session as the API returns them: the durations of their causes and an explanation in one
 * sentence.
 */
import { z } from 'zod';
import { type TurnSilence, turnSilence } from '#protocol/session-record.ts';

/** A silence with its explanation, such as `waited 1,375 ms: half a number; 410 ms: the model`. */
export const explainedSilence = turnSilence.extend({ explanation: z.string() });

const RULES: Readonly<Record<string, string>> = {
  punctuation: 'a finished sentence',
  plain: 'no sign that more was to come',
  comma: 'a comma',
  hesitation: 'a hesitation',
  hanging_word: 'a word after which more is to come',
  half_number: 'half a number',
  local_number: 'a number that may be whole',
  half_email: 'half an e-mail address',
  spelling: 'a name being spelled',
  as_expected: 'the answer that was asked for',
  short_of_expected: 'less than was asked for',
  no_words: 'speech without words',
  late_final: 'words that came late',
  reengage: 'the caller said nothing and was asked',
  idle_hangup: 'the caller said nothing',
  unheard: 'words that never came were asked for again',
  keypad: 'more keys',
  end_of_call: 'the call was ended meanwhile',
  background_result: 'until a result came',
  retried: 'it failed and was asked again',
  gave_up_turn: 'it failed',
};

const CAUSES: Readonly<Record<TurnSilence['causes'][number]['cause'], string>> = {
  endpoint: 'waited for more',
  transcript: 'the recogniser’s last words',
  model: 'the model’s first word',
  sentence: 'the first sentence',
  voice: 'the voice',
  answer: 'the answer',
  tool: 'tool',
  caller_silent: 'the caller’s silence',
};

/** Human-readable meaning of a turn machine rule. */
export function meaningOf(rule: string): string {
  return RULES[rule] ?? rule.replaceAll('_', ' ');
}

/** Shorter, inaudible parts of a silence are left out of the explanation. */
const MIN_EXPLAINED_MS = 20;

/** Adds the explanation. */
export function explainSilence(silence: TurnSilence): z.output<typeof explainedSilence> {
  const audible = silence.causes.filter(({ ms }) => ms >= MIN_EXPLAINED_MS);
  return {
    ...silence,
    explanation: (audible.length > 0 ? audible : silence.causes).map(describeCause).join('; '),
  };
}

function describeCause({ cause, rule, ms }: TurnSilence['causes'][number]): string {
  const time = `${Math.round(ms).toLocaleString('en-US')} ms`;
  const why = rule === null ? null : meaningOf(rule);
  if (cause === 'endpoint') return `waited ${time}${why === null ? '' : `: ${why}`}`;
  if (cause === 'tool') return `${time}: tool ${rule}`;
  return `${time}: ${CAUSES[cause]}${why === null ? '' : ` (${why})`}`;
}
