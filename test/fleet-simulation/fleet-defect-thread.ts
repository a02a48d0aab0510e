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
  if (likely !== null) {
    const found = await foundIn(likely);
    if (found) return found;
  }
  for (let seed = 1; seed <= runs; seed++) {
    const found = await foundIn(seed);
    if (found) return found;
  }
  return null;
}

async function foundIn(seed: number): Promise<FoundDefect | null> {
  const [violation] = (await simulateFleet(seed)).violations;
  return violation === undefined ? null : { seed, violation };
}
