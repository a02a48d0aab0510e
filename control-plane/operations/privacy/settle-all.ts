/** Waits until all have settled, and only then throws the first error: none goes on unattended. */
export async function settleAll<Value>(promises: Iterable<Promise<Value>>): Promise<Value[]> {
  const outcomes = await Promise.allSettled(promises);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}
