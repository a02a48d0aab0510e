/**
 * Counts the writes of a process that is the only one to write to its database (embedded database).
 * Background work that found nothing to do has nothing to do until the count rises, and need not ask the
 * store.
 */
import { onWrites } from './collection-methods.ts';
import type { Models } from './models.ts';

/**
 * Returns a function that gives the number of writes so far. Each write raises it when it is sent and again
 * when it is answered, even with an error. So a caller that reads the count before the store either sees the
 * write in the store or finds a higher count later.
 */
export function countWrites(models: Models): () => number {
  let count = 0;
  for (const { collection } of Object.values(models))
    onWrites(collection, () => {
      count += 1;
    });
  return () => count;
}
