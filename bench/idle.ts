/**
 * Measures the idle product: CPU time of all threads and memory of all processes, once the work of the start
 * has ended. `npm run bench:idle` prints the figures and the share of each process.
 */
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSeconds, type Process, proportionalBytes, wakeUps } from '#test/journeys/process-tree.ts';
import { type Product, startProduct } from '#test/journeys/product.ts';
import { type Figure, judge, toText } from './figures.ts';

const MIB = 1_048_576;

/** How long to wait and to measure, ms. */
export interface IdleTimes {
  /** From the start to the measurement. */
  readonly restMs: number;
  readonly windowMs: number;
}

/** By then it has compiled also what it prepares for calls after its start. */
const FIRST_MS = 15_000;

export const IDLE_TIMES: IdleTimes = { restMs: 60_000, windowMs: 60_000 };

/** The use of one process. */
interface IdleShare {
  readonly name: string;
  /** Share of one core. */
  readonly cpuShare: number;
  /** Of all threads, per second. Unlike the CPU time, they do not depend on what else the machine does. */
  readonly wakeUps: number;
  /** Memory; pages shared by several processes are divided among them. */
  readonly bytes: number;
}

/**
 * Starts a product with a fresh data directory and measures it. Starts another one before, because the first
 * start of a new version compiles it, and the compiler stays in memory.
 */
export async function measureIdle({ restMs, windowMs }: IdleTimes): Promise<IdleShare[]> {
  const first = await startProduct();
  await sleep(FIRST_MS);
  await first.close();
  const product = await startProduct();
  try {
    await sleep(restMs);
    const processes = product.processes();
    const before = processes.map(useOf);
    const startedMs = performance.now();
    await sleep(windowMs);
    const seconds = (performance.now() - startedMs) / 1_000;
    return processes.map((each, index) => {
      const [use, used] = [useOf(each), before[index] ?? { cpuSeconds: 0, wakeUps: 0 }];
      return {
        name: nameOf(each, product),
        cpuShare: (use.cpuSeconds - used.cpuSeconds) / seconds,
        wakeUps: (use.wakeUps - used.wakeUps) / seconds,
        bytes: proportionalBytes([each]),
      };
    });
  } finally {
    await product.close();
  }
}

function useOf(process: Process): { readonly cpuSeconds: number; readonly wakeUps: number } {
  return { cpuSeconds: cpuSeconds([process]), wakeUps: wakeUps([process]) };
}

/** The sums over all processes, with their budgets. */
export function idleFigures(shares: readonly IdleShare[], { windowMs }: IdleTimes): Figure[] {
  const about = { load: `no calls, ${windowMs / 1_000} s`, samples: shares.length > 0 ? 1 : 0 };
  const sum = (of: (share: IdleShare) => number) => shares.reduce((total, share) => total + of(share), 0);
  return [
    judge({ ...about, what: 'CPU of the idle product, share of a core', unit: '%', digits: 2 }, [
      { name: '', value: 100 * sum(({ cpuShare }) => cpuShare), limit: 0.5 },
    ]),
    judge({ ...about, what: 'memory of the idle product', unit: 'MiB', digits: 0 }, [
      { name: '', value: sum(({ bytes }) => bytes) / MIB, limit: 450 },
    ]),
  ];
}

/** Its role; for a process with a program of its own, that program. */
function nameOf({ pid, commandLine }: Process, product: Product): string {
  return pid === product.pid ? 'supervisor' : basename(commandLine.split(' ').at(-1) ?? '');
}

if (import.meta.main) {
  const shares = await measureIdle(IDLE_TIMES);
  for (const { name, cpuShare, wakeUps: perSecond, bytes } of shares)
    console.log(
      `${name.padEnd(28)} ${(100 * cpuShare).toFixed(2)} %  ${(bytes / MIB).toFixed(0).padStart(4)} MiB  ` +
        `${perSecond.toFixed(1).padStart(5)} wake-ups per second`,
    );
  console.log(`\n${toText(idleFigures(shares, IDLE_TIMES))}`);
}
