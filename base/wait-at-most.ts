/** Waiting for work that may take too long. */
import type { Clock } from './clock.ts';

/** Resolves when `work` does, after `ms` at the latest; rejects if `work` does before. The work goes on. */
export async function waitAtMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const limit = new AbortController();
  try {
    await Promise.race([work, clock.sleep(ms, limit.signal).catch(() => undefined)]);
  } finally {
    limit.abort();
  }
}
