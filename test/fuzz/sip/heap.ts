/** Bytes of the JavaScript heap in use, after everything unreachable has been collected. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes in use after a collection: after a fifth of the inputs, and at the end. */
export interface HeapUse {
  readonly early: number;
  readonly late: number;
}

export async function heapBytes(): Promise<number> {
  // What is finalised by one collection is freed by the next.
  for (let round = 0; round < 3; round++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage().heapUsed;
}
