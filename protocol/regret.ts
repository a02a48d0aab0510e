/**
 * Regret of calls: what their agent waited needlessly, and whom it cut off, against an agent that knows when
 * each turn really ends (docs/regret.md). What a worker measures, and the figures of the API.
 */
import { z } from 'zod';
import { triedSettings } from './tuning.ts';

const count = z.number().int().nonnegative();
/** More settings than these are not judged in one call. */
export const MOST_CANDIDATES = 80;

/** Turns of a call under one setting. */
const turnsUnder = z.object({
  /** Turns that the agent took. */
  turns: count,
  /** Turns taken although the caller went on within 1.5 s. */
  cut_offs: count,
  /** Turns of which the answer has hidden whether the caller would have gone on within 1.5 s. */
  unknown: count,
  /** Wait in the turns that are not cut off, ms; `known_wait_ms` without the unknown ones. */
  wait_ms: z.number().nonnegative(),
  known_wait_ms: z.number().nonnegative(),
});
export type TurnsUnder = z.output<typeof turnsUnder>;

/** A call to be measured; `candidates` are judged beside its own settings. */
export const regretRequestCall = z.object({
  session_id: z.string(),
  log: z.string(),
  candidates: z.array(triedSettings).max(MOST_CANDIDATES),
});
export type RegretRequestCall = z.output<typeof regretRequestCall>;

/** What a worker has measured in a call. */
export const measuredCall = z.object({
  outcome: z.literal('measured'),
  session_id: z.string(),
  /** All pauses of the caller, also while the agent spoke; and those in a turn of the caller. */
  pauses: count,
  judged: count,
  own: turnsUnder,
  /** In the order of the request. */
  candidates: z.array(turnsUnder).max(MOST_CANDIDATES),
});
export type MeasuredCall = z.output<typeof measuredCall>;

/** Became of a call: measured, or its log is damaged or of an unknown version of the turn machine. */
const regretOutcome = z.discriminatedUnion('outcome', [
  measuredCall,
  z.object({ outcome: z.literal('unreadable'), session_id: z.string() }),
]);
export type RegretOutcome = z.output<typeof regretOutcome>;

/** A worker's answer. */
export const regretOutcomes = z.object({ calls: z.array(regretOutcome) });

const estimate = z.object({
  value: z.number().describe('Estimate from the calls so far.'),
  low: z.number().nullable().describe('Lower end of the 95 % interval; null with too few calls.'),
  high: z.number().nullable().describe('Upper end of the 95 % interval; null with too few calls.'),
});

/** Regret over a group of calls. */
export const regretFigures = z.object({
  calls: count.describe('Ended calls that were measured.'),
  left_out: count.describe('Calls without a flight log, or whose log could not be read.'),
  turns: count.describe('Turns that the agent took.'),
  needless_wait_ms: estimate.describe(
    'Mean wait in a turn beyond the caller’s end, ms; unknown turns count as ended.',
  ),
  least_needless_wait_ms: z.number().describe('The same if none of the unknown turns had ended, ms.'),
  cut_offs: estimate.describe('Callers cut off in a hundred turns; none of the unknown turns counts.'),
  most_cut_offs: estimate.describe('The same if every unknown turn were a caller cut off.'),
  unknown_share: z.number().describe('Share of turns that the answer cut short, 0 to 1.'),
  judged_share: z.number().describe('Share of all pauses that fell into a turn of the caller, 0 to 1.'),
});
export type RegretFigures = z.output<typeof regretFigures>;

/** Regret of an agent, as the API answers it. */
export const regretRecord = z.object({
  agent_id: z.string().describe('Id of the agent.'),
  from: z.string().describe('First day (UTC), such as `2026-11-01`.'),
  to: z.string().describe('Last day (UTC).'),
  measured_until: z.iso
    .datetime()
    .nullable()
    .describe('Calls that began until then are measured, RFC 3339 UTC; null before the first.'),
  all: regretFigures.describe('Figures over all these days.'),
  by_version: z
    .array(regretFigures.extend({ version_number: count.describe('Number of the version.') }))
    .describe('By version, the lowest number first.'),
  by_day: z
    .array(
      regretFigures.extend({
        day: z.string().describe('The day (UTC) on which the calls began.'),
        version_number: count.describe('Number of the version.'),
      }),
    )
    .describe('By day and version, the earliest first; days without a call are absent.'),
});
export type RegretRecord = z.output<typeof regretRecord>;
