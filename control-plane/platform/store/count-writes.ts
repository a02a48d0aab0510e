/**
 * Counts the writes of a process that is the only one to write to its database (embedded database).
 * Background work that found nothing to do has nothing to do until the count rises, and need not ask the
 * store.
 */
import { onWrites } from './collection-methods.ts';
import type { Models } from './models.ts';

/**
 * Returns a function that gives the number of writes so far, of all models or of those named. Each write
 * raises it when it is sent and again when it is answered, even with an error. So a caller that reads the
 * count before the store either sees the write in the store or finds a higher count later.
 */
export function countWrites(models: Models): (names?: readonly (keyof Models)[]) => number {
  const all = Object.keys(models) as (keyof Models)[];
  const counts = new Map(all.map((name) => [name, 0]));
  for (const name of all)
    onWrites(models[name].collection, () => counts.set(name, (counts.get(name) ?? 0) + 1));
  return (names = all) => names.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0);
}
