/** The decision whether, and when, a failed request is sent again. */
import { ApiConnectionError, ApiError } from './errors.ts';

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;
/** Statuses after which a request may have been carried out or not. */
const UNCERTAIN = new Set([502, 503, 504]);

/** A failure, and what is known of its request. */
export interface Failure {
  readonly error: unknown;
  /** Earlier failures of the same request. */
  readonly earlier: number;
  /** Whether sending it twice has the effect of once. */
  readonly isRepeatable: boolean;
  /** Whether it has an idempotency key. */
  readonly hasKey: boolean;
}

/**
 * Milliseconds until the request is sent again; null if it is not. Waits as long as `Retry-After` says,
 * unless that is longer than `longestRetryAfterMs`, and otherwise longer each time. `random` is from 0 to 1:
 * clients that failed together do not return together.
 */
export function retryWaitMs(failure: Failure, random: number, longestRetryAfterMs: number): number | null {
  if (!mayRepeat(failure)) return null;
  const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failure.earlier);
  const askedMs = failure.error instanceof ApiError ? failure.error.retryAfterMs : null;
  if (askedMs === null) return waitMs * (0.5 + random / 2);
  return askedMs > longestRetryAfterMs ? null : askedMs + random * FIRST_WAIT_MS;
}

function mayRepeat({ error, isRepeatable, hasKey }: Failure): boolean {
  if (error instanceof ApiConnectionError) return isRepeatable;
  if (!(error instanceof ApiError)) return false;
  // The request was refused before anything was done.
  if (error.status === 429) return true;
  // An earlier attempt with the same key is still running.
  if (hasKey && error.reason === 'idempotency_key_conflict') return true;
  return isRepeatable && UNCERTAIN.has(error.status);
}
