/**
 * Compares two rates while they grow, valid at every look and for any split of the calls: the method of
 * mixtures (H. Robbins, “Statistical methods related to the law of the iterated logarithm”, Ann. Math. Stat.
 * 41, 1970) over the likelihood ratio of universal inference (L. Wasserman, A. Ramdas, S. Balakrishnan,
 * “Universal inference”, PNAS 117, 2020). The evidence against a difference d is
 *
 *   E(d) = ∏ over arms ∫ p^hits (1−p)^misses dBeta(½, ½)(p)  /  max over p₁ − p₂ = d of the likelihood.
 *
 * If d is the true difference, E(d) is at most a martingale that starts at 1, whatever the rates are, so by
 * Ville's inequality it ever reaches 1/α with a probability of at most α. The differences whose evidence is
 * below 1/α are therefore a confidence sequence (S. Howard, A. Ramdas, J. McAuliffe, J. Sekhon,
 * “Time-uniform, nonparametric, nonasymptotic confidence sequences”, Ann. Stat. 49, 2021): the true one is in
 * it at all times together with a probability of at least 1 − α. It needs only the counts.
 */

/** Calls, and how many of them are hits. */
export interface Rate {
  readonly calls: number;
  readonly hits: number;
}

/** Differences of two rates that the counts do not refute. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Halvings of a range: to 2⁻⁶⁰ for a maximum, to 2⁻⁴⁰ for an end of an interval. */
const MAXIMUM_STEPS = 60;
const INTERVAL_STEPS = 40;
/** ln of the normalisation of Beta(½, ½), which is π. */
const LN_BETA_PRIOR = Math.log(Math.PI);

/** The difference of the observed rates, `a` minus `b`; 0 while one of them has no calls. */
export function observedDifference(a: Rate, b: Rate): number {
  return a.calls === 0 || b.calls === 0 ? 0 : a.hits / a.calls - b.hits / b.calls;
}

/** ln E(d): evidence that the rate of `a` minus that of `b` is not `difference` (−1 to 1). */
export function logEvidence(a: Rate, b: Rate, difference: number): number {
  return mixtureOf(a) + mixtureOf(b) - likelihoodUnder(a, b, difference);
}

/**
 * The interval of the differences with less evidence than 1/`alpha` against them. At all looks together it
 * has the true difference with a probability of at least 1 − `alpha`.
 */
export function differenceInterval(a: Rate, b: Rate, alpha: number): Interval {
  const threshold = -Math.log(alpha);
  const mixture = mixtureOf(a) + mixtureOf(b);
  const isRefuted = (difference: number) => mixture - likelihoodUnder(a, b, difference) >= threshold;
  const centre = observedDifference(a, b);
  return { low: endOf(isRefuted, centre, -1), high: endOf(isRefuted, centre, 1) };
}

/** Whether the rate of `a` is certainly higher than that of `b`, by more than `margin`. */
export function isHigher(a: Rate, b: Rate, { margin, alpha }: { margin: number; alpha: number }): boolean {
  return observedDifference(a, b) > margin && logEvidence(a, b, margin) >= -Math.log(alpha);
}

/** The evidence rises from the observed difference outwards: the likelihood is log-concave. */
function endOf(isRefuted: (difference: number) => boolean, centre: number, outermost: -1 | 1): number {
  if (!isRefuted(outermost)) return outermost;
  let inside = centre;
  let outside: number = outermost;
  for (let step = 0; step < INTERVAL_STEPS; step++) {
    const middle = (inside + outside) / 2;
    if (isRefuted(middle)) outside = middle;
    else inside = middle;
  }
  return inside;
}

/** ln of the mixture of the likelihoods of all rates. */
function mixtureOf({ calls, hits }: Rate): number {
  return lnBeta(hits + 0.5, calls - hits + 0.5) - LN_BETA_PRIOR;
}

/** ln of the highest likelihood of two rates with this difference; −∞ if the counts are impossible. */
function likelihoodUnder(a: Rate, b: Rate, difference: number): number {
  let low = Math.max(0, -difference);
  let high = Math.min(1, 1 - difference);
  const slope = (rate: number) => slopeAt(a, rate + difference) + slopeAt(b, rate);
  for (let step = 0; step < MAXIMUM_STEPS; step++) {
    const middle = (low + high) / 2;
    if (slope(middle) > 0) low = middle;
    else high = middle;
  }
  const rate = (low + high) / 2;
  return likelihoodAt(a, rate + difference) + likelihoodAt(b, rate);
}

function slopeAt({ calls, hits }: Rate, rate: number): number {
  const misses = calls - hits;
  return (hits === 0 ? 0 : hits / rate) - (misses === 0 ? 0 : misses / (1 - rate));
}

function likelihoodAt({ calls, hits }: Rate, rate: number): number {
  return timesLn(hits, rate) + timesLn(calls - hits, 1 - rate);
}

/** count × ln(rate); a rate that rounding puts outside of 0 to 1 counts as 0. */
function timesLn(count: number, rate: number): number {
  return count === 0 ? 0 : count * Math.log(Math.max(0, rate));
}

function lnBeta(x: number, y: number): number {
  return lnGamma(x) + lnGamma(y) - lnGamma(x + y);
}

/** Coefficients of Lanczos' approximation for g = 7 (error below 10⁻¹⁵ of Γ). */
const LANCZOS_0 = 0.99999999999980993;
const LANCZOS = [
  676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
  -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

/** ln Γ(x) for x ≥ ½ (C. Lanczos, “A precision approximation of the gamma function”, 1964). */
function lnGamma(x: number): number {
  const z = x - 1;
  const t = z + 7.5;
  const sum = LANCZOS.reduce((total, part, index) => total + part / (z + index + 1), LANCZOS_0);
  return 0.5 * Math.log(2 * Math.PI) + (z + 0.5) * Math.log(t) - t + Math.log(sum);
}
