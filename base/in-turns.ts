/** Runs long work in short steps, yielding to other work in between. */
import { setImmediate as nextRound } from 'node:timers/promises';

/** Runs all steps. Resolves with their result; rejects with the first error. */
export async function inTurns<Result>(steps: Generator<unknown, Result>): Promise<Result> {
  let step = steps.next();
  for (; !step.done; step = steps.next()) await nextRound();
  return step.value;
}

/** Runs all steps at once, for callers that nothing else waits for. */
export function atOnce<Result>(steps: Generator<unknown, Result>): Result {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}
