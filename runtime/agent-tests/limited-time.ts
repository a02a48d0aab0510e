/** A model that is asked about calls has a time for all its attempts. */
import type { Clock } from '#base/clock.ts';
import { ModelError } from '../llm/llm.ts';

/**
 * Does work that asks a model; after `ms` its signal aborts with a `ModelError` that names the time and is
 * not retried. Rejects as the work does.
 */
export async function withinTime<Result>(
  clock: Clock,
  ms: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const end = new AbortController();
  const late = new ModelError(`no answer within ${ms / 1_000} s`, { retryable: false });
  const timer = clock.after(ms, () => end.abort(late));
  try {
    return await work(end.signal);
  } finally {
    timer.cancel();
  }
}
