/**
 * Recommends settings from the pauses of many calls: callers cut off against time saved, for every candidate.
 */
import type { TurnConfig } from '../turn/machine/turn-config.ts';
import type { JudgedPauses, PauseOutcome } from './what-if.ts';

/**
 * The agent starts speaking about this long after the turn ends: a caller who continues within it is cut off.
 */
const CUT_OFF_WITHIN_MS = 1_500;
/** Share of pauses in which cutting off the caller is tolerated. */
const TOLERATED = 0.02;

/** One candidate setting. */
export interface Candidate {
  readonly name: string;
  readonly changes: Partial<TurnConfig>;
}

/** What a setting would have done to the calls. */
export interface SettingResult {
  readonly name: string;
  /** Share of judged pauses in which the agent would have interrupted the caller. */
  readonly cutOffs: number;
  /** Mean time saved before the turn is taken, over the pauses that ended the caller's turn, in ms. */
  readonly savedMs: number;
}

/** The candidates, the call's own setting first. */
export const CANDIDATES: readonly Candidate[] = [
  { name: 'as it was', changes: {} },
  ...(['relaxed', 'balanced', 'eager'] as const).flatMap((eagerness) =>
    [300, 500, 800, 1_200].map((responseWaitMs) => ({
      name: `eagerness=${eagerness} response_wait_ms=${responseWaitMs}`,
      changes: { eagerness, responseWaitMs, responseMaxWaitMs: null },
    })),
  ),
];

/** Sums the calls for one setting. */
export function resultOf(name: string, calls: readonly JudgedPauses[]): SettingResult {
  const pairs = calls.flatMap(({ was, wouldBe }) =>
    was.map((before, index) => ({ before, after: wouldBe[index] as PauseOutcome })),
  );
  const saved = pairs.flatMap(({ before, after }) =>
    before.takenAfterMs !== null && after.takenAfterMs !== null
      ? [before.takenAfterMs - after.takenAfterMs]
      : [],
  );
  return {
    name,
    cutOffs: pairs.length === 0 ? 0 : pairs.filter(({ after }) => isCutOff(after)).length / pairs.length,
    savedMs: saved.length === 0 ? 0 : saved.reduce((sum, ms) => sum + ms, 0) / saved.length,
  };
}

function isCutOff({ takenAfterMs, wentOnAfterMs }: PauseOutcome): boolean {
  return takenAfterMs !== null && wentOnAfterMs !== null && wentOnAfterMs <= takenAfterMs + CUT_OFF_WITHIN_MS;
}

/**
 * The fastest setting that cuts off no more callers than the current one, within the tolerance. The first row
 * is the current setting.
 */
export function recommend(rows: readonly SettingResult[]): SettingResult | null {
  const [own] = rows;
  if (!own) return null;
  const most = Math.max(own.cutOffs, TOLERATED);
  return rows
    .filter(({ cutOffs }) => cutOffs <= most)
    .reduce((best, row) => (row.savedMs > best.savedMs ? row : best), own);
}

/** Share of all pauses that could be judged. */
export function judgedShare(calls: readonly JudgedPauses[]): number {
  const all = calls.reduce((sum, { pauses }) => sum + pauses, 0);
  return all === 0 ? 0 : calls.reduce((sum, { was }) => sum + was.length, 0) / all;
}
