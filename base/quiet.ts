/** Whether a thread has next to nothing to do, and whether there is a processor for what it may begin. */
import { availableParallelism, cpus } from 'node:os';

/** Counters of time, ms; only their differences have a meaning. */
export interface TimeUse {
  /** In which this thread has worked. */
  readonly workMs: number;
  /** In which processors had nothing to do, of all processors together; null if that is not known. */
  readonly freeMs: number | null;
}

/** A quiet thread works for less of its time. */
const MOST_WORK = 0.05;
/** One processor is free if all together have nothing to do for so much of the time. */
const LEAST_FREE = 0.9;

/** Whether this thread had next to nothing to do in the time between two readings. */
export function wasThreadQuiet(before: TimeUse, now: TimeUse, passedMs: number): boolean {
  return now.workMs - before.workMs <= MOST_WORK * passedMs;
}

/** Whether a processor was free in the time between two readings; null if that is not known. */
export function wasProcessorFree(before: TimeUse, now: TimeUse, passedMs: number): boolean | null {
  if (before.freeMs === null || now.freeMs === null) return null;
  return now.freeMs - before.freeMs >= LEAST_FREE * passedMs;
}

/** What `readTimeUse` asks the system. */
interface System {
  /** The processors of the machine; none where the system does not tell. */
  cpus(): readonly { readonly times: { readonly idle: number } }[];
  /** The number of them that this process may use. */
  availableParallelism(): number;
}

/**
 * Reads the counters. A process that may not use all processors, because of its affinity or a limit of its
 * container, can wait although one is free: for it, nothing is known of them.
 */
export function readTimeUse(system: System = { cpus, availableParallelism }): TimeUse {
  const processors = system.cpus();
  const isKnown = processors.length > 0 && system.availableParallelism() >= processors.length;
  return {
    workMs: performance.eventLoopUtilization().active,
    freeMs: isKnown ? processors.reduce((sum, { times }) => sum + times.idle, 0) : null,
  };
}
