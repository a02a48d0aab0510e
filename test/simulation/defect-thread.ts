/**
 * One thread with one defect in the turn loop: runs simulated calls until one of them violates an invariant.
 * Its message is what caught the defect, or null.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { DEFECTS } from './defects.ts';
import { seedDefect } from './seed-defect.ts';

const { name, calls } = workerData as { readonly name: string; readonly calls: number };
const defect = DEFECTS.find((candidate) => candidate.name === name);
if (!defect) throw new Error(`there is no defect ${name}`);

seedDefect(defect, `/runtime/turn/machine/${defect.file}`);

const [{ simulateCall }, { violations }] = await Promise.all([
  import('./simulate-call.ts'),
  import('./invariants.ts'),
]);
parentPort?.postMessage(await caughtBy());

async function caughtBy(): Promise<string | null> {
  for (let seed = 1; seed <= calls; seed++) {
    const [first] = violations(await simulateCall(seed));
    if (first !== undefined) return `seed ${seed}: ${first}`;
  }
  return null;
}
