/**
 * Counts the writes of a process that is the only one to write to its database (embedded database).
 * Background work that found nothing to do has nothing to do until the count rises, and need not ask the
 * store.
 */
import { onWrites } from './collection-methods.ts';
import type { Models } from './models.ts';

/**
 * Returns a function that gives the number so far. It rises at the latest when a write is answered, also with
 * an error: whoever reads the count first and the store afterwards sees the write, or later a higher count.
 */
export function countWrites(models: Models): () => number {
  let count = 0;
  for (const { collection } of Object.values(models))
    onWrites(collection, () => {
      count += 1;
    });
  return () => count;
}
