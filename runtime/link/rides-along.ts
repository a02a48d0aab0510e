/** Which reports wait for the next one of their session. */
import type { DurableReport } from '#protocol/worker-link.ts';

const FIGURES: ReadonlySet<DurableReport['type']> = new Set([
  'turn',
  'silence',
  'overlap',
  'usage',
  'recording',
]);

/**
 * True for figures, which are not needed before the words they belong to; sent alone, each would cost a store
 * write.
 */
export function ridesAlong({ type }: DurableReport): boolean {
  return FIGURES.has(type);
}
