/** Bytes of the JavaScript heap in use after a full collection. */
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
  // Objects finalised by one collection are freed by the next.
  for (let round = 0; round < 3; round++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage().heapUsed;
}
