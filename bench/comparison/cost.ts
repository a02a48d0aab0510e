/**
 * CPU and memory of one side of the comparison, including processes that live for one call only. Shared
 * memory pages count once.
 */
import { cpus } from 'node:os';
import { cpuSeconds, type Process, proportionalBytes } from '#test/journeys/process-tree.ts';

const EVERY_MS = 500;

/** A running measurement. */
export interface CostMeter {
  /** Stops the measurement. Returns the CPU seconds used since the start and the peak memory. */
  stop(): { readonly cpuSeconds: number; readonly peakBytes: number; readonly seconds: number };
}

/** Starts measuring. The last half second of a process that ends may be missed. */
export function startCostMeter(processes: () => readonly Process[]): CostMeter {
  const startedMs = performance.now();
  const before = new Map(processes().map((item) => [item.pid, cpuSeconds([item])]));
  const used = new Map<number, number>();
  let peakBytes = 0;
  const sample = () => {
    const running = processes();
    for (const item of running)
      used.set(item.pid, Math.max(used.get(item.pid) ?? 0, cpuSeconds([item]) - (before.get(item.pid) ?? 0)));
    peakBytes = Math.max(peakBytes, proportionalBytes(running));
  };
  const timer = setInterval(sample, EVERY_MS);
  sample();
  return {
    stop() {
      clearInterval(timer);
      sample();
      return {
        cpuSeconds: [...used.values()].reduce((sum, seconds) => sum + seconds, 0),
        peakBytes,
        seconds: (performance.now() - startedMs) / 1_000,
      };
    },
  };
}

/** Begins to measure; returns a function that tells the share of all cores in use since then, 0 to 1. */
export function startBusyMeter(): () => number {
  const before = cpuTimes();
  return () => {
    const after = cpuTimes();
    return 1 - (after.idle - before.idle) / Math.max(1, after.all - before.all);
  };
}

function cpuTimes(): { readonly idle: number; readonly all: number } {
  const times = cpus().map((core) => core.times);
  return {
    idle: times.reduce((sum, { idle }) => sum + idle, 0),
    all: times.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0),
  };
}
