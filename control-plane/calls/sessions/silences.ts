/**
 * The silences of a session as the API returns them: the durations of their causes and an explanation in one
 * sentence.
 */
import { z } from 'zod';
import { type TurnSilence, turnSilence } from '#protocol/session-record.ts';
import { meaningOf } from '#protocol/turn-rules.ts';

/** A silence with its explanation, such as `waited 1,375 ms: half a number; 410 ms: the model`. */
export const explainedSilence = turnSilence.extend({ explanation: z.string() });

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
