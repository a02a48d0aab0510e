/** Differences between the clocks of the machines of one deployment. */

/**
 * Largest difference, ms, for which everything works: leases, deadlines, grace periods and rate windows last
 * longer or are kept longer by this much.
 */
export const MAX_CLOCK_DIFFERENCE_MS = 5_000;

/**
 * A message about a clock that is too far from this machine's, with the difference in seconds; null if it is
 * near enough. Both times are Unix ms.
 */
export function clockProblem(what: string, theirMs: number, ourMs: number): string | null {
  const differenceMs = theirMs - ourMs;
  if (Math.abs(differenceMs) <= MAX_CLOCK_DIFFERENCE_MS) return null;
  const seconds = (Math.abs(differenceMs) / 1_000).toFixed(1);
  return (
    `the clock of ${what} is ${seconds} s ${differenceMs > 0 ? 'ahead of' : 'behind'} this machine’s. At most ` +
    `${MAX_CLOCK_DIFFERENCE_MS / 1_000} s are tolerated: set both by NTP`
  );
}
