/** The other moments at which the turn could have ended, to explain why it did not. */

import type { TurnConfig } from '../turn-config.ts';
import type { Decision } from '../turn-effects.ts';
import { waitMs } from './endpointing.ts';
import type { Judgement } from './expected-answer.ts';

/** The rejected moments for words judged so, whose speech ended at `endMs`. */
export function rejectedEndpoints(
  { rule, score, fit }: Judgement,
  config: TurnConfig,
  pauseMs: number,
  endMs: number,
): NonNullable<Decision['rejected']> {
  const takenMs = waitMs({ rule, score, ...(fit ? { fit } : {}) }, config, pauseMs);
  const reason = fit ? fit.note : `completeness ${score}`;
  const because = `${rule}: ${reason}, eagerness ${config.eagerness}`;
  const others = [
    { rule: 'take_as_finished', ms: waitMs({ rule, score: 1 }, config, pauseMs) },
    { rule: 'wait_for_more', ms: waitMs({ rule, score: 0 }, config, pauseMs) },
  ];
  return others
    .filter(({ ms }) => ms !== takenMs)
    .map(({ rule: other, ms }) => ({ rule: other, deadlineMs: endMs + ms, because }));
}
