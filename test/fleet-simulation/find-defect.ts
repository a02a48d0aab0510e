/** Tries one seeded defect of the fleet in a separate thread. */
import { Worker } from 'node:worker_threads';
import type { Defect } from '../simulation/defects.ts';

/** The first fleet that violates an invariant. */
export interface FoundDefect {
  readonly seed: number;
  readonly violation: string;
}

/** What found the defect within the first `runs` fleets; null if nothing did. */
export function findDefect({ name }: Defect, runs: number): Promise<FoundDefect | null> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./fleet-defect-thread.ts', import.meta.url), {
      workerData: { name, runs },
    });
    thread.once('message', resolve);
    thread.once('error', reject);
  });
}
