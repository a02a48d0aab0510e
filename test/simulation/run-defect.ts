/** Tries one seeded defect in a separate thread. */
import { Worker } from 'node:worker_threads';
import type { Defect } from './defects.ts';

/** What caught the defect within the first `calls` simulated calls; null if nothing did. */
export function caughtInSimulation({ name }: Defect, calls: number): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./defect-thread.ts', import.meta.url), {
      workerData: { name, calls },
    });
    thread.once('message', resolve);
    thread.once('error', reject);
  });
}
