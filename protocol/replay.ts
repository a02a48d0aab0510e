/** Replay of an ended call with other settings: the settings that can change, and the outcome. */
import { z } from 'zod';
import { agentConfig } from '#config/agent-config.ts';
import { REPLAYABLE_SETTINGS, type ReplayableSetting } from './conversation-settings.ts';

const { shape } = agentConfig.shape.conversation.unwrap();

/** Settings a replay can change, as in the agent's configuration; absent ones keep the call's values. */
export const replaySettings = z.strictObject(
  Object.fromEntries(REPLAYABLE_SETTINGS.map((name) => [name, shape[name].unwrap().optional()])) as {
    [Name in ReplayableSetting]: z.ZodOptional<ReturnType<(typeof shape)[Name]['unwrap']>>;
  },
);
export type ReplaySettings = z.output<typeof replaySettings>;

const moment = z.object({
  at: z.iso.datetime(),
  /** `generate`: the model was asked, so its answer might have been different. */
  did: z.enum(['play', 'pause', 'resume', 'clear', 'transfer', 'hang_up', 'generate']),
});

/** The first noticeable difference; null without one. */
export const replayOutcome = z.object({
  divergence: z
    .object({
      /** Null if nothing more happened. */
      was: moment.nullable(),
      would_be: moment.nullable(),
      /** Share of the call before it, 0 to 1; the recording after it no longer corresponds. */
      judged: z.number(),
    })
    .nullable(),
});
export type ReplayOutcome = z.output<typeof replayOutcome>;
