/**
 * One thread with one defect in the turn loop: runs simulated calls until one of them violates an invariant.
 * Its message is what caught the defect, or null.
 */
import { registerHooks } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { DEFECTS, placeOf } from './defects.ts';

const { name, calls } = workerData as { readonly name: string; readonly calls: number };
const defect = DEFECTS.find((candidate) => candidate.name === name);
if (!defect) throw new Error(`there is no defect ${name}`);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(`/runtime/turn/machine/${defect.file}`) || typeof loaded.source === 'undefined')
      return loaded;
    const source = String(
      typeof loaded.source === 'string' ? loaded.source : Buffer.from(loaded.source as Uint8Array),
    );
    const parts = source.split(placeOf(defect));
    if (parts.length !== 2)
      throw new Error(`${name}: its place stands ${parts.length - 1} times in ${defect.file}`);
    return { ...loaded, source: parts.join(defect.replace) };
  },
});

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
