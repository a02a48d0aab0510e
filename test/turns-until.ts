/** How much of a loop's time is left to others: by the turns it took, and by no clock. */

const MOST_TURNS = 100_000;

/** The turns of the loop until something is so. Throws where it never is. */
export async function turnsUntil(isSo: () => boolean): Promise<number> {
  for (let turns = 0; turns < MOST_TURNS; turns++) {
    if (isSo()) return turns;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`not within ${MOST_TURNS} turns of the loop`);
}

/** The turns of the loop that others had while this was done. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let isDone = false;
  const working = work().finally(() => {
    isDone = true;
  });
  const turns = await turnsUntil(() => isDone);
  await working;
  return turns;
}
