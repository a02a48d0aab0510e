/** Tries one seeded defect of the fleet in a separate thread. */
import { Worker } from 'node:worker_threads';
import type { Defect } from '../simulation/defects.ts';

/** The first fleet that violates an invariant. */
export interface FoundDefect {
  readonly seed: number;
  readonly violation: string;
}

/** A defect that is searched in its own thread. */
export interface SearchedDefect {
  readonly name: string;
  /** Most fleets, from seed 1. */
  readonly runs: number;
  /** The seed that is tried before; null if none is known. */
  readonly likely: number | null;
}

/** Tries the likely fleet, then the first `runs` fleets; null if no fleet finds the defect. */
export function findDefect(
  { name }: Defect,
  runs: number,
  likely: number | null = null,
): Promise<FoundDefect | null> {
  const workerData: SearchedDefect = { name, runs, likely };
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./fleet-defect-thread.ts', import.meta.url), { workerData });
    thread.once('message', resolve);
    thread.once('error', reject);
  });
}
