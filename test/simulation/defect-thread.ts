/**
 * One thread with one defect: runs simulated calls until one of them violates an invariant. Its message is
 * what caught the defect, or null.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { DEFECTS, isOfToolServers } from './defects.ts';
import { isOfLines } from './line-defects.ts';
import { seedDefect } from './seed-defect.ts';

const { name, calls } = workerData as { readonly name: string; readonly calls: number };
const defect = DEFECTS.find((candidate) => candidate.name === name);
if (!defect) throw new Error(`there is no defect ${name}`);

seedDefect(defect, `/runtime/${defect.file}`);
const hasServer = isOfToolServers(defect);
const hasFarEnd = isOfLines(defect);

const [{ simulateCall }, { violations }, { simulateScene }, { lineViolations }] = await Promise.all([
  import('./simulate-call.ts'),
  import('./invariants.ts'),
  import('./tool-server-scenes.ts'),
  import('./line-invariants.ts'),
]);
parentPort?.postMessage(await caughtBy());

async function found(seed: number): Promise<readonly string[]> {
  if (hasServer) return (await simulateScene(seed)).violations;
  if (hasFarEnd) return lineViolations(await simulateCall(seed, { hasFarEnd }));
  return violations(await simulateCall(seed));
}

async function caughtBy(): Promise<string | null> {
  for (let seed = 1; seed <= calls; seed++) {
    const [first] = await found(seed);
    if (first !== undefined) return `seed ${seed}: ${first}`;
  }
  return null;
}
