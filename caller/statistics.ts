/** Quantiles, for every figure the benchmarks print. */

/** The value below which the share `q` (0 to 1) of the values lies, by nearest rank; NaN without values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] ?? Number.NaN;
}
