/**
 * How the ended calls of an agent are scored: the tags that are computed from facts, their thresholds,
 * and the rates that are watched. An optional section of the configuration, absent until set.
 */
import { z } from 'zod';
import { analysisName } from './analysis-name.ts';

/** Faults of a call that its stored facts show. */
export const CALL_TAGS = [
  'dead_air',
  'talked_over',
  'loop',
  'caller_repeated',
  'slow_tool',
  'wrong_language',
  'unheard',
  'anger_words',
] as const;
export type CallTagName = (typeof CALL_TAGS)[number];

/** Times from which on a silence, an overlap and a tool are tagged, ms. */
export const TAG_THRESHOLDS = { dead_air_ms: 4_000, talked_over_ms: 1_500, slow_tool_ms: 3_000 } as const;

/** A rate of fewer calls opens no alert, unless its rule says otherwise. */
export const DEFAULT_AT_LEAST_CALLS = 30;
const MAX_ALERTS = 20;
const MAX_WORDS = 100;

/** Prefix of the rate of a criterion: the calls in which it failed, of those judged. */
export const CRITERION_PREFIX = 'criterion:';

/** In place of a limit: it is learned from the agent's own calls. */
export const LEARNED = 'learned';

const limit = z.union([z.number().gt(0).lt(1), z.literal(LEARNED)]);

const alertRule = z
  .strictObject({
    rate: z
      .string()
      .max(74)
      .refine(isRate, `must be one of ${CALL_TAGS.join(', ')}, or ${CRITERION_PREFIX}<name of a criterion>`),
    above: limit.exactOptional(),
    below: limit.exactOptional(),
    at_least_calls: z.number().int().min(10).max(100_000).exactOptional(),
  })
  .refine(({ above, below }) => above !== undefined || below !== undefined, 'set above, below, or both')
  .refine(
    ({ above = 1, below = 0 }) => above === LEARNED || below === LEARNED || above > below,
    'above must be greater than below',
  );
export type AlertRule = z.output<typeof alertRule>;

/** The section. */
export const scorecardSection = z.strictObject({
  dead_air_ms: z.number().int().min(1_000).max(60_000).exactOptional(),
  talked_over_ms: z.number().int().min(500).max(30_000).exactOptional(),
  slow_tool_ms: z.number().int().min(100).max(60_000).exactOptional(),
  anger_words: z.array(z.string().trim().min(1).max(64)).max(MAX_WORDS).exactOptional(),
  alerts: z
    .array(alertRule)
    .max(MAX_ALERTS)
    .refine((rules) => new Set(rules.map(({ rate }) => rate)).size === rules.length, 'a rate is listed twice')
    .exactOptional(),
});
export type Scorecard = z.output<typeof scorecardSection>;

/** In a patch the section is replaced as a whole; null and an empty object remove it. */
export const scorecardPatch = scorecardSection.nullable();

/** The section after a patch: no field if there is none. */
export function mergeScorecard(
  current: Scorecard | undefined,
  patch: Scorecard | null | undefined,
): { scorecard?: Scorecard } {
  const scorecard = patch === undefined ? current : patch;
  return scorecard && Object.keys(scorecard).length > 0 ? { scorecard } : {};
}

function isRate(rate: string): boolean {
  return (
    (CALL_TAGS as readonly string[]).includes(rate) ||
    (rate.startsWith(CRITERION_PREFIX) && analysisName.safeParse(rate.slice(CRITERION_PREFIX.length)).success)
  );
}
