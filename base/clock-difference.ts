/** Differences between the clocks of the machines of one deployment. */

/**
 * Largest difference between two machines, ms. It shifts what depends on wall time by as much and does no
 * harm: leases and grace periods that several machines compare are 20 s and longer, and rate windows are kept
 * this much longer.
 */
export const MAX_CLOCK_DIFFERENCE_MS = 5_000;
/** Machines are compared with the database: two that are near enough to it are near enough to each other. */
const WARN_FROM_MS = MAX_CLOCK_DIFFERENCE_MS / 2;

/**
 * A message about a clock that is too far from this machine's, with the difference in seconds; null if it is
 * near enough. Both times are Unix ms.
 */
export function clockProblem(what: string, theirMs: number, ourMs: number): string | null {
  const differenceMs = theirMs - ourMs;
  if (Math.abs(differenceMs) <= WARN_FROM_MS) return null;
  const seconds = (Math.abs(differenceMs) / 1_000).toFixed(1);
  return (
    `the clock of ${what} is ${seconds} s ${differenceMs > 0 ? 'ahead of' : 'behind'} this machine’s. ` +
    `Up to ${WARN_FROM_MS / 1_000} s are tolerated: set both by NTP`
  );
}
