/**
 * A call that is over run again with other settings: which settings can be others, and what is told of it.
 */
import { z } from 'zod';
import { agentConfig } from '#config/agent-config.ts';

const { shape } = agentConfig.shape.conversation.unwrap();

/**
 * The settings of `conversation` a replay can change, each as the agent's configuration takes it; what is
 * absent stays as it was in the call.
 */
export const replaySettings = z.strictObject({
  response_wait_ms: shape.response_wait_ms.unwrap().optional(),
  response_max_wait_ms: shape.response_max_wait_ms.unwrap().optional(),
  eagerness: shape.eagerness.unwrap().optional(),
  interruptible: shape.interruptible.unwrap().optional(),
  interruption_sensitivity: shape.interruption_sensitivity.unwrap().optional(),
  interruption_ignore_phrases: shape.interruption_ignore_phrases.unwrap().optional(),
  speculative_response: shape.speculative_response.unwrap().optional(),
  reengage_enabled: shape.reengage_enabled.unwrap().optional(),
  hangup_after_seconds: shape.hangup_after_seconds.unwrap().optional(),
  hangup_farewell_enabled: shape.hangup_farewell_enabled.unwrap().optional(),
});
export type ReplaySettings = z.output<typeof replaySettings>;

const moment = z.object({
  at: z.iso.datetime(),
  /** `generate`: the model was asked, so that another answer may have come. */
  did: z.enum(['play', 'pause', 'resume', 'clear', 'transfer', 'hang_up', 'generate']),
});

/** Where the call would first have gone another way; null where nobody would have noticed anything. */
export const replayOutcome = z.object({
  divergence: z
    .object({
      /** Null where nothing more was done. */
      was: moment.nullable(),
      would_be: moment.nullable(),
      /** Share of the call before it, 0 to 1: what follows was recorded of another call. */
      judged: z.number(),
    })
    .nullable(),
});
export type ReplayOutcome = z.output<typeof replayOutcome>;
