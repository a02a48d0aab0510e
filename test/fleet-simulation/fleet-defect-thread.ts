/**
 * One thread with one defect in the product: simulates fleets until one of them violates an invariant, the
 * likely one first. Its message is what found the defect, or null.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { seedDefect } from '../simulation/seed-defect.ts';
import type { FoundDefect, SearchedDefect } from './find-defect.ts';
import { FLEET_DEFECTS } from './fleet-defects.ts';

const { name, runs, likely } = workerData as SearchedDefect;
const defect = FLEET_DEFECTS.find((candidate) => candidate.name === name);
if (!defect) throw new Error(`there is no defect ${name}`);

seedDefect(defect, `/${defect.file}`);

const { simulateFleet } = await import('./simulate-fleet.ts');
parentPort?.postMessage(await foundBy());

async function foundBy(): Promise<FoundDefect | null> {
  const seeds = Array.from({ length: runs }, (_, index) => index + 1);
  for (const seed of likely === null ? seeds : [likely, ...seeds]) {
    const [violation] = (await simulateFleet(seed)).violations;
    if (violation !== undefined) return { seed, violation };
  }
  return null;
}
