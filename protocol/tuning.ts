/** Pauses of ended calls judged under other settings: what a worker counts, and the result for a client. */
import { z } from 'zod';
import { agentConfig } from '#config/agent-config.ts';

const { eagerness, response_wait_ms, response_max_wait_ms } = agentConfig.shape.conversation.unwrap().shape;

/** A result with more settings than this is not a worker's. */
const MOST_TRIED = 100;

/** Settings to try, as a change of the draft takes them; empty: the call's own. */
export const triedSettings = z.object({
  eagerness: eagerness.unwrap().optional(),
  response_wait_ms: response_wait_ms.unwrap().optional(),
  response_max_wait_ms: response_max_wait_ms.unwrap().optional(),
});
export type TriedSettings = z.output<typeof triedSettings>;

/** The effect that one setting would have had in the judged pauses. */
const settingTally = z.object({
  conversation: triedSettings,
  /** Pauses in which the agent would have interrupted the caller. */
  cut_offs: z.number().int().nonnegative(),
  /** Sum of the time saved before the turn is taken, in ms; negative if it takes longer. */
  saved_ms: z.number(),
  /** Pauses in which the turn is taken under both settings: those of `saved_ms`. */
  taken: z.number().int().nonnegative(),
});
export type SettingTally = z.output<typeof settingTally>;

/** Counts over some calls. */
export const pauseTally = z.object({
  /** Calls whose log could be read; logs of an unknown version of the turn machine are left out. */
  calls: z.number().int().nonnegative(),
  /** All pauses, including those during agent speech, which are not judged. */
  pauses: z.number().int().nonnegative(),
  judged: z.number().int().nonnegative(),
  /** The call's own settings first; the same settings in the same order from every worker of a version. */
  settings: z.array(settingTally).max(MOST_TRIED),
});
export type PauseTally = z.output<typeof pauseTally>;

/** The effect that other settings would have had on an agent's calls, as the API answers it. */
export const tuningResult = z.object({
  calls: z.number().int(),
  pauses: z.number().int(),
  judged_share: z.number(),
  needed_pauses: z.number().int(),
  settings: z.array(
    z.object({
      conversation: triedSettings,
      cut_offs: z.number().int(),
      cut_off_share: z.number(),
      /** Of one turn, on average. */
      saved_ms: z.number(),
      /** Of all turns together. */
      saved_total_ms: z.number(),
    }),
  ),
  recommended: triedSettings.nullable(),
});
export type TuningResult = z.output<typeof tuningResult>;

/**
 * Adds the counts of two groups of calls. Settings are matched by what they are, so that workers of two
 * versions may have judged them; those that only one has tried are left out.
 */
export function addTallies(a: PauseTally, b: PauseTally): PauseTally {
  const others = new Map(b.settings.map((one) => [JSON.stringify(one.conversation), one]));
  return {
    calls: a.calls + b.calls,
    pauses: a.pauses + b.pauses,
    judged: a.judged + b.judged,
    settings: a.settings.flatMap((one) => {
      const other = others.get(JSON.stringify(one.conversation));
      return other ? [sum(one, other)] : [];
    }),
  };
}

function sum(one: SettingTally, other: SettingTally): SettingTally {
  return {
    conversation: one.conversation,
    cut_offs: one.cut_offs + other.cut_offs,
    saved_ms: one.saved_ms + other.saved_ms,
    taken: one.taken + other.taken,
  };
}
