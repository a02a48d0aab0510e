/**
 * One thread with one defect in the product: simulates fleets until one of them violates an invariant. Its
 * message is what found the defect, or null.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { seedDefect } from '../simulation/seed-defect.ts';
import { FLEET_DEFECTS } from './fleet-defects.ts';

const { name, runs } = workerData as { readonly name: string; readonly runs: number };
const defect = FLEET_DEFECTS.find((candidate) => candidate.name === name);
if (!defect) throw new Error(`there is no defect ${name}`);

seedDefect(defect, `/${defect.file}`);

const { simulateFleet } = await import('./simulate-fleet.ts');
parentPort?.postMessage(await foundBy());

async function foundBy(): Promise<{ readonly seed: number; readonly violation: string } | null> {
  for (let seed = 1; seed <= runs; seed++) {
    const [violation] = (await simulateFleet(seed)).violations;
    if (violation !== undefined) return { seed, violation };
  }
  return null;
}
