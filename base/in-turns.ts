/** Work that takes long, done in short steps: everything else that waits has its turn in between. */
import { setImmediate as nextRound } from 'node:timers/promises';

/** Takes all steps. Resolves with what they come to; rejects with what one of them throws. */
export async function inTurns<Result>(steps: Generator<unknown, Result>): Promise<Result> {
  let step = steps.next();
  for (; !step.done; step = steps.next()) await nextRound();
  return step.value;
}

/** Takes all steps at once: where nobody waits. */
export function atOnce<Result>(steps: Generator<unknown, Result>): Result {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}
