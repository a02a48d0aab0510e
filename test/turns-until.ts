/** Measures how often work yields the event loop, in loop turns and without a clock. */

const MOST_TURNS = 100_000;

/** Counts loop turns until a condition holds. Throws if it never does. */
export async function turnsUntil(isSo: () => boolean): Promise<number> {
  for (let turns = 0; turns < MOST_TURNS; turns++) {
    if (isSo()) return turns;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`not within ${MOST_TURNS} turns of the loop`);
}

/** Counts the loop turns available to other work while this work runs. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let isDone = false;
  const working = work().finally(() => {
    isDone = true;
  });
  const turns = await turnsUntil(() => isDone);
  await working;
  return turns;
}
