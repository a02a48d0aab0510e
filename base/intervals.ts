/**
 * 95 % intervals of shares and ratios over independent units, such as calls. Pure; sums of two groups can be
 * added, so that nothing but sums is kept.
 */
import { addFields } from './add-fields.ts';

/** An estimate with its interval; `low` and `high` are null where too few units say nothing about spread. */
export interface Estimate {
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
}

/** The 97.5 % quantile of the normal distribution. */
const Z = 1.959963984540054;
/** With fewer units the spread between them is not known. */
const FEWEST_UNITS = 4;

/**
 * Wilson's score interval of a share: `hits` of `of`. Keeps within 0 and 1, also for none and all of a few
 * (E. B. Wilson, J. Amer. Statist. Assoc. 22, 1927). `z` is the quantile of another confidence than 95 %.
 */
export function wilson(hits: number, of: number, z = Z): Estimate {
  if (of <= 0) return { value: 0, low: null, high: null };
  const share = hits / of;
  const middle = (share + (z * z) / (2 * of)) / (1 + (z * z) / of);
  const half = (z / (1 + (z * z) / of)) * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of));
  return { value: share, low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

/** Sums over units that have a numerator `y` and a denominator `x` each. */
export interface RatioSums {
  readonly units: number;
  readonly y: number;
  readonly x: number;
  readonly yy: number;
  readonly xy: number;
  readonly xx: number;
}

/** The sums of no unit. */
export const NO_UNITS: RatioSums = { units: 0, y: 0, x: 0, yy: 0, xy: 0, xx: 0 };

/** Adds one unit. */
export function withUnit(sums: RatioSums, y: number, x: number): RatioSums {
  return {
    units: sums.units + 1,
    y: sums.y + y,
    x: sums.x + x,
    yy: sums.yy + y * y,
    xy: sums.xy + x * y,
    xx: sums.xx + x * x,
  };
}

/** Adds the sums of other units. */
export function addSums(a: RatioSums, b: RatioSums): RatioSums {
  return addFields(a, b);
}

/**
 * The ratio Σy / Σx with an interval by linearisation, whose units are drawn whole: the pauses of one call
 * are alike (W. G. Cochran, Sampling Techniques, 3rd ed., 1977, section 6.4). With few units Student's
 * quantile makes it wider.
 */
export function ratio(sums: RatioSums): Estimate {
  if (sums.x <= 0) return { value: 0, low: null, high: null };
  const value = sums.y / sums.x;
  const variance = varianceOf(sums, value);
  if (variance === null) return { value, low: null, high: null };
  const half = studentQuantile(sums.units - 1) * Math.sqrt(variance);
  return { value, low: value - half, high: value + half };
}

/**
 * The share Σy / Σx where each y counts some of its x. Wilson's interval with as many independent cases as
 * would have this variance, at most Σx (E. L. Korn and B. I. Graubard, Survey Methodology 24, 1998).
 * `z` as for `wilson`.
 */
export function clusteredShare(sums: RatioSums, z = Z): Estimate {
  if (sums.x <= 0) return { value: 0, low: null, high: null };
  const value = sums.y / sums.x;
  const variance = varianceOf(sums, value);
  const effective = Math.min(sums.x, Math.max(1, casesOf(sums, value, variance)));
  return wilson(value * effective, effective, z);
}

/** For reading: with so many decimal digits. */
export function rounded({ value, low, high }: Estimate, digits = 4): Estimate {
  const round = (number: number) => Number(number.toFixed(digits));
  return {
    value: round(value),
    low: low === null ? null : round(low),
    high: high === null ? null : round(high),
  };
}

function casesOf({ units, x }: RatioSums, value: number, variance: number | null): number {
  if (variance === null) return units;
  return variance <= 0 ? x : (value * (1 - value)) / variance;
}

function varianceOf({ units, x, yy, xy, xx }: RatioSums, value: number): number | null {
  if (units < FEWEST_UNITS) return null;
  const residuals = Math.max(0, yy - 2 * value * xy + value * value * xx);
  return ((units / (units - 1)) * residuals) / (x * x);
}

/** Student's 97.5 % quantile (M. Abramowitz and I. A. Stegun, 26.7.5): within 1 % from three degrees on. */
function studentQuantile(degrees: number): number {
  const first = (Z ** 3 + Z) / 4;
  const second = (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / 96;
  const third = (3 * Z ** 7 + 19 * Z ** 5 + 17 * Z ** 3 - 15 * Z) / 384;
  return Z + first / degrees + second / degrees ** 2 + third / degrees ** 3;
}
