/** The result of a tuning from the counts of its calls: shares, mean times, and a recommendation. */
import type { PauseTally, TuningResult } from '#protocol/tuning.ts';

/** With fewer, one caller more or less decides which setting looks best. */
const FEWEST_PAUSES = 20;
/** Share of pauses in which cutting off the caller is tolerated. */
const TOLERATED = 0.02;

type SettingResult = TuningResult['settings'][number];

/** Turns counts into a result; null stands for no calls. */
export function resultOf(tally: PauseTally | null): TuningResult {
  const { calls, pauses, judged, settings } = tally ?? { calls: 0, pauses: 0, judged: 0, settings: [] };
  const results = settings.map(({ conversation, cut_offs, saved_ms, taken }) => ({
    conversation,
    cut_offs,
    cut_off_share: judged === 0 ? 0 : cut_offs / judged,
    saved_ms: taken === 0 ? 0 : Math.round(saved_ms / taken),
    saved_total_ms: Math.round(saved_ms),
  }));
  return {
    calls,
    pauses: judged,
    judged_share: pauses === 0 ? 0 : judged / pauses,
    needed_pauses: FEWEST_PAUSES,
    settings: results,
    recommended: judged < FEWEST_PAUSES ? null : (recommend(results)?.conversation ?? null),
  };
}

/**
 * The fastest setting that cuts off no more callers than the current one, within the tolerance. The first is
 * the current setting.
 */
export function recommend(results: readonly SettingResult[]): SettingResult | null {
  const [own] = results;
  if (!own) return null;
  const most = Math.max(own.cut_off_share, TOLERATED);
  return results
    .filter(({ cut_off_share }) => cut_off_share <= most)
    .reduce((best, one) => (one.saved_ms > best.saved_ms ? one : best), own);
}
