/**
 * Tells when a rate leaves its band, looked at after every call: an e-detector (J. Shin, A. Ramdas, A.
 * Rinaldo, “E-detectors: a nonparametric framework for sequential change detection”, New England J. Stat.
 * Data Sci. 2, 2024) in the form of Shiryaev and Roberts. For each of some alternatives p₁ beyond the
 * limit p₀,
 *
 *   Sₙ = (1 + Sₙ₋₁) · p₁/p₀ after a hit, (1 + Sₙ₋₁) · (1 − p₁)/(1 − p₀) after a miss.
 *
 * While the rate is within its limit, a factor is at most 1 on average, so that Sₙ − n falls: until the
 * mean of the sums reaches A, there are at least A calls on average, however often one looks. It needs no
 * window: calls before a change do not weigh on those after it. A rate that has left is watched in the
 * same way for its return.
 */
import type { AlertSide, StoredEvidence } from '../../platform/store/models/scorecard-model.ts';

/** A rate within its limit opens an alert once in this many calls at most, on average. */
export const CALLS_PER_FALSE_ALARM = 100_000;
/**
 * An alert of a rate that is still beyond its limit is closed once in this many calls at most, on average.
 */
export const CALLS_PER_FALSE_RETURN = 10_000;

/** Odds of the alternatives, as multiples of those of the limit; the second one is that of the drift. */
const FACTORS = [1.5, 2, 3, 6];
const DRIFT = 1;
/**
 * Limit of a sum, far above an alert. Without it, a sum would grow on while an alert waits for enough calls,
 * and old calls would then weigh longer than for other rates.
 */
const MOST = 1e9;

/** No evidence. */
export const NO_EVIDENCE: StoredEvidence = {
  sums: FACTORS.map(() => 0),
  drift: 0,
  calls: 0,
  hits: 0,
  since: null,
};

/** A call in which the rate can be told. */
export interface RatedCall {
  readonly isHit: boolean;
  /** When it began. */
  readonly at: Date;
}

/** Adds a call to the evidence that the rate is on this side of the limit. */
export function withCall(
  before: StoredEvidence,
  { limit, side }: { readonly limit: number; readonly side: AlertSide },
  { isHit, at }: RatedCall,
): StoredEvidence {
  const ratios = FACTORS.map((factor) =>
    likelihoodRatio(limit, side === 'above' ? factor : 1 / factor, isHit),
  );
  const drift = Math.min(Math.log(MOST), Math.max(0, before.drift + Math.log(ratios[DRIFT] ?? 1)));
  const sums = ratios.map((ratio, index) => Math.min(MOST, (1 + (before.sums[index] ?? 0)) * ratio));
  // The calls so far speak against a change: it has not begun.
  if (drift === 0) return { ...NO_EVIDENCE, sums };
  return {
    sums,
    drift,
    calls: before.calls + 1,
    hits: before.hits + (isHit ? 1 : 0),
    since: before.since && before.since < at ? before.since : at,
  };
}

/** The mean of the sums. */
export function strengthOf({ sums }: StoredEvidence): number {
  return sums.reduce((total, sum) => total + sum, 0) / sums.length;
}

function likelihoodRatio(limit: number, factor: number, isHit: boolean): number {
  const odds = (limit / (1 - limit)) * factor;
  const alternative = odds / (1 + odds);
  return isHit ? alternative / limit : (1 - alternative) / (1 - limit);
}
