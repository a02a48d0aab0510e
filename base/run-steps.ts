/** Runs long work, written as a generator of short steps. */
import { setImmediate as nextRound } from 'node:timers/promises';

/**
 * Runs all steps, yielding to the event loop after each. Resolves with the result; rejects with the first
 * error.
 */
export async function runInTurns<Result>(steps: Generator<unknown, Result>): Promise<Result> {
  let step = steps.next();
  for (; !step.done; step = steps.next()) await nextRound();
  return step.value;
}

/** Runs all steps without yielding, for threads that have no other work. */
export function runAtOnce<Result>(steps: Generator<unknown, Result>): Result {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}
