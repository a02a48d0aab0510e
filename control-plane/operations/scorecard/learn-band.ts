/**
 * Learns the band of a rate from the calls of the agent's own last weeks. Pure. The limit above is the lowest
 * rate that is certainly not the agent's: were the rate there, so few hits as were seen would have a
 * probability of `ERROR` at most, by Chernoff's bound (W. Hoeffding, J. Amer. Statist. Assoc. 58, 1963,
 * theorem 1)
 *
 *   Pr(hits / calls ≤ s) ≤ exp(−calls · KL(s ‖ p))   for s ≤ p,
 *
 * where KL is the relative entropy of two coins; the limit below is its mirror image. So a limit is wrong
 * once in a thousand at most, and one that is right opens no more false alerts than one that is set.
 */
import { type AlertRule, LEARNED } from '#config/scorecard.ts';
import type { AlertSide, LearnedBand, WatchedRate } from '../../platform/store/models/scorecard-model.ts';
import { rateIn, type Sums } from './score-call.ts';

const DAY_MS = 24 * 60 * 60_000;
/** The calls of this time are looked at, and again after as long. */
export const LEARNING_DAYS = 28;
/** Fewer calls in it say too little: the limit of a rate of 5 % would be twice as high as with a thousand. */
export const LEARNING_CALLS = 200;
/** Until an agent with fewer calls is looked at again. */
const AGAIN_MS = 60 * 60_000;
/** Probability that a limit is on the wrong side of the agent's rate. */
export const ERROR = 0.001;
/** Halvings until a limit is exact to the precision of its number. */
const HALVINGS = 60;

/** Whether calls must be looked at for this rule now. The limit of an open alert stays as it is. */
export function isLearningDue({ rule, learned, open }: WatchedRate, at: Date): boolean {
  if (open !== null || (rule.above !== LEARNED && rule.below !== LEARNED)) return false;
  return !learned || at >= learned.again_at;
}

/** The band that the calls with these sums show. */
export function learnBand(rule: AlertRule, sums: Sums, at: Date): LearnedBand {
  const { hits, calls } = rateIn(sums, rule.rate);
  const isEnough = calls >= LEARNING_CALLS;
  const limitOn = (side: AlertSide) =>
    rule[side] === LEARNED && isEnough ? learnedLimit(side, { hits, calls }) : null;
  return {
    at,
    again_at: isEnough ? afterLearning(at) : new Date(at.getTime() + AGAIN_MS),
    ...{ calls, hits, above: limitOn('above'), below: limitOn('below') },
  };
}

/** The calls before this time are then out of those that are looked at. */
export function afterLearning(at: Date): Date {
  return new Date(at.getTime() + LEARNING_DAYS * DAY_MS);
}

/** The limit beside an observed rate, 0 to 1, exclusive; null if there is no room for one. */
export function learnedLimit(
  side: AlertSide,
  { hits, calls }: { readonly hits: number; readonly calls: number },
): number | null {
  const share = hits / calls;
  const needed = Math.log(1 / ERROR) / calls;
  let near = share;
  let far = side === 'above' ? 1 : 0;
  if (near === far) return null;
  for (let step = 0; step < HALVINGS; step++) {
    const middle = (near + far) / 2;
    if (relativeEntropy(share, middle) < needed) near = middle;
    else far = middle;
  }
  return far > 0 && far < 1 ? far : null;
}

/** Of a coin with share `s` from one with share `p`, in nats. */
function relativeEntropy(s: number, p: number): number {
  const part = (a: number, b: number) => (a === 0 ? 0 : a * Math.log(a / b));
  return part(s, p) + part(1 - s, 1 - p);
}
