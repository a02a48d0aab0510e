/** Compares the arms of a share: each rate with its interval, the verdict, and the harm that stops it. */

import type { ShareArm } from '../../platform/store/models/session-share.ts';
import {
  type ArmSums,
  SHARE_MEASURES,
  type ShareDocument,
  type ShareEnd,
  type ShareMeasure,
} from '../../platform/store/models/share-model.ts';
import { differenceInterval, isHigher, observedDifference } from './sequential-test.ts';

/**
 * The probability that any verdict about a share is ever wrong, at all looks and over all rates together;
 * each rate has an equal part of it.
 */
export const FALSE_VERDICTS = 0.01;
const ALPHA = FALSE_VERDICTS / SHARE_MEASURES.length;

/** `higher` and `lower`: the difference is real; `open`: the calls so far do not tell. */
export const VERDICTS = ['higher', 'lower', 'open'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** One rate in both arms; `difference` is that of the share minus that beside it, with its interval. */
export interface ComparedRate {
  readonly measure: ShareMeasure;
  readonly difference: number | null;
  readonly low: number;
  readonly high: number;
  readonly verdict: Verdict;
}

type Arms = Readonly<Record<ShareArm, Pick<ArmSums, 'rates'>>>;

/** Compares every rate. */
export function compareArms(arms: Arms): ComparedRate[] {
  return SHARE_MEASURES.map((measure) => compareRate(arms, measure));
}

/** The harm that the calls so far have shown; null if there is none. */
export function harmIn(
  { watch, at_least_calls: atLeast }: Pick<ShareDocument, 'watch' | 'at_least_calls'>,
  arms: Arms,
): NonNullable<ShareEnd['harm']> | null {
  for (const { measure, margin } of watch) {
    const [ours, theirs] = [arms.share.rates[measure], arms.published.rates[measure]];
    if (Math.min(ours.calls, theirs.calls) < atLeast) continue;
    if (!isHigher(ours, theirs, { margin, alpha: ALPHA })) continue;
    const { low, high } = differenceInterval(ours, theirs, ALPHA);
    return { measure, difference: observedDifference(ours, theirs), low, high };
  }
  return null;
}

function compareRate(arms: Arms, measure: ShareMeasure): ComparedRate {
  const [ours, theirs] = [arms.share.rates[measure], arms.published.rates[measure]];
  const isKnown = ours.calls > 0 && theirs.calls > 0;
  const { low, high } = differenceInterval(ours, theirs, ALPHA);
  return {
    measure,
    difference: isKnown ? observedDifference(ours, theirs) : null,
    low,
    high,
    verdict: verdictOf(low, high),
  };
}

function verdictOf(low: number, high: number): Verdict {
  if (low > 0) return 'higher';
  return high < 0 ? 'lower' : 'open';
}

const NAMES: Readonly<Record<ShareMeasure, string>> = {
  failed: 'calls that fail',
  unsuccessful: 'calls without success',
  slow: 'slow calls',
  dead_air: 'calls with dead air',
  transferred: 'transferred calls',
};

/**
 * The line for people that says which differences are real, such as `Real: more slow calls with version 4
 * (between 2.1 and 9.4 points). Not shown: the rest.`
 */
export function summaryOf(
  { version_number, beside_number }: Pick<ShareDocument, 'version_number' | 'beside_number'>,
  compared: readonly ComparedRate[],
): string {
  const real = compared.flatMap(({ measure, low, high, verdict }) => {
    if (verdict === 'open') return [];
    const [least, most] = verdict === 'higher' ? [low, high] : [-high, -low];
    const more = verdict === 'higher' ? 'more' : 'fewer';
    return `${more} ${NAMES[measure]} (${points(least)} to ${points(most)} points)`;
  });
  if (real.length === 0)
    return `No difference between versions ${version_number} and ${beside_number} is certain yet.`;
  return `Real with version ${version_number} beside ${beside_number}: ${real.join('; ')}.`;
}

function points(share: number): string {
  return (share * 100).toFixed(1);
}
