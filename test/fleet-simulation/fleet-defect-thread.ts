/**
 * One thread with one defect in the product: simulates fleets until one of them violates an invariant. Its
 * message is what found the defect, or null.
 */
import { registerHooks } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { placeOf } from '../simulation/defects.ts';
import { FLEET_DEFECTS } from './fleet-defects.ts';

const { name, runs } = workerData as { readonly name: string; readonly runs: number };
const defect = FLEET_DEFECTS.find((candidate) => candidate.name === name);
if (!defect) throw new Error(`there is no defect ${name}`);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(`/${defect.file}`) || typeof loaded.source === 'undefined') return loaded;
    const source = String(
      typeof loaded.source === 'string' ? loaded.source : Buffer.from(loaded.source as Uint8Array),
    );
    const parts = source.split(placeOf(defect));
    if (parts.length !== 2)
      throw new Error(`${name}: its place stands ${parts.length - 1} times in ${defect.file}`);
    return { ...loaded, source: parts.join(defect.replace) };
  },
});

const { simulateFleet } = await import('./simulate-fleet.ts');
parentPort?.postMessage(await foundBy());

async function foundBy(): Promise<{ readonly seed: number; readonly violation: string } | null> {
  for (let seed = 1; seed <= runs; seed++) {
    const [violation] = (await simulateFleet(seed)).violations;
    if (violation !== undefined) return { seed, violation };
  }
  return null;
}
