/** Watches the CPU and the memory of the product, before a load and during it. */
import { cpuSeconds, type Process, residentBytes, usedCores } from '#test/journeys/process-tree.ts';
import type { CpuSample } from './cpu-cost.ts';

const SAMPLE_MS = 500;
/** For what earlier calls leave to do: uploads, webhooks, and sums every ten seconds. */
export const SETTLE_MS = 12_000;

/** CPU and memory that the product used. */
export interface ProductUse {
  /** CPU seconds per second of the product without calls. */
  readonly idlePerSecond: number;
  /** From the end of that measurement on. */
  readonly samples: readonly CpuSample[];
  /** Peak resident memory of all processes, bytes. */
  readonly peakBytes: number;
}

/** Pauses, measures the idle product for `idleMs`, and starts watching it; the returned function stops. */
export async function watchProduct(
  processes: readonly Process[],
  { idleMs }: { readonly idleMs: number },
): Promise<() => ProductUse> {
  const samples: CpuSample[] = [];
  let peakBytes = 0;
  const sample = () => {
    samples.push({ atMs: performance.now(), cpuSeconds: cpuSeconds(processes) });
    peakBytes = Math.max(peakBytes, residentBytes(processes));
  };
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const idlePerSecond = await usedCores(processes, idleMs);
  sample();
  const sampling = setInterval(sample, SAMPLE_MS);
  return () => {
    clearInterval(sampling);
    sample();
    return { idlePerSecond, samples, peakBytes };
  };
}
