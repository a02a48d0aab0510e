/** Requests to any worker about ended calls, which it runs again from their flight logs. */
import { z } from 'zod';
import { turnQuestion } from './judged-turns.ts';
import { regretRequestCall } from './regret.ts';
import { rehearsedCall } from './rehearsal.ts';
import { replaySettings } from './replay.ts';

export const RUN_AGAIN_REQUESTS = [
  /** Replay an ended call from its flight log; answered with a `ReplayOutcome`. */
  z.object({ type: z.literal('replay'), request_id: z.string(), log: z.string(), settings: replaySettings }),
  /** Judge the pauses of calls from their flight logs; answered with a `PauseTally`. */
  z.object({ type: z.literal('judge_pauses'), request_id: z.string(), logs: z.array(z.string()) }),
  /** Run ended calls again under a draft; answered with `rehearsedOutcomes`. */
  z.object({ type: z.literal('rehearse'), request_id: z.string(), calls: z.array(rehearsedCall) }),
  /** Ask a model about one turn of an ended call; answered with a `QuestionOutcome`. */
  z.object({ type: z.literal('judge_turn'), request_id: z.string(), question: turnQuestion }),
  /** Measure the regret of ended calls; answered with `regretOutcomes`. */
  z.object({
    type: z.literal('measure_regret'),
    request_id: z.string(),
    calls: z.array(regretRequestCall),
  }),
] as const;
