/** The other moments at which the turn could have ended, to explain why it did not. */

import type { TurnConfig } from '../turn-config.ts';
import type { Decision } from '../turn-effects.ts';
import { judgeCompleteness, waitMs } from './endpointing.ts';

/** The rejected moments for `text`, whose speech ended at `endMs`. */
export function rejectedEndpoints(
  text: string,
  config: TurnConfig,
  pauseMs: number,
  endMs: number,
): NonNullable<Decision['rejected']> {
  const judgement = judgeCompleteness(text, config.language);
  const takenMs = waitMs(judgement, config, pauseMs);
  const because = `${judgement.rule}: completeness ${judgement.score}, eagerness ${config.eagerness}`;
  const others = [
    { rule: 'take_as_finished', ms: waitMs({ ...judgement, score: 1 }, config, pauseMs) },
    { rule: 'wait_for_more', ms: waitMs({ ...judgement, score: 0 }, config, pauseMs) },
  ];
  return others
    .filter(({ ms }) => ms !== takenMs)
    .map(({ rule, ms }) => ({ rule, deadlineMs: endMs + ms, because }));
}
