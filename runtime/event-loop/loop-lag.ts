/** Event-loop delay of this thread, sent with each heartbeat; above a limit the worker declines new calls. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** How the event loop is sampled, and which percentile of the delays since the previous reading counts. */
interface Sampling {
  readonly everyMs: number;
  readonly percentile: number;
}

const MANY_JOBS = 4;
const WITH_MANY: Sampling = { everyMs: 10, percentile: 95 };
/**
 * More samples would be most of the wake-ups of a single call. Up to 50 ms of a delay are not seen. Of twenty
 * samples one late one is no lag.
 */
const WITH_FEW: Sampling = { everyMs: 50, percentile: 90 };

/**
 * The delay of the event loop, ms, read once per heartbeat: a percentile of the delays since the previous
 * reading. `jobs`: how many run; sets how the loop is sampled until the next reading.
 */
export type LagMeter = (jobs: number) => number;

/**
 * Starts a meter of a thread without jobs. Then nothing wakes the thread to measure it: the delay is what
 * both of the last two readings, due every `everyMs`, were late after the reading before them. A loop that is
 * late by the same time at each reading shows none. `monitor` starts to sample the event loop.
 */
export function startLagMeter(
  everyMs: number,
  monitor: typeof monitorEventLoopDelay = monitorEventLoopDelay,
): LagMeter {
  let sampling: Sampling | null = null;
  let samples: ReturnType<typeof monitorEventLoopDelay> | null = null;
  let askedMs = performance.now();
  let earlierMs = 0;
  const read = (sinceMs: number): number => {
    if (!samples || !sampling) return Math.min(earlierMs, sinceMs - everyMs);
    // A loop that turned only once in this period yields no sample.
    return (samples.count === 0 ? sinceMs : samples.percentile(sampling.percentile) / 1e6) - sampling.everyMs;
  };
  return (jobs) => {
    const nowMs = performance.now();
    const sinceMs = nowMs - askedMs;
    const delayMs = Math.max(0, read(sinceMs));
    askedMs = nowMs;
    earlierMs = sinceMs - everyMs;
    samples?.reset();
    const next = samplingWith(jobs);
    if (next === sampling) return delayMs;
    samples?.disable();
    sampling = next;
    samples = next && monitor({ resolution: next.everyMs });
    samples?.enable();
    return delayMs;
  };
}

function samplingWith(jobs: number): Sampling | null {
  if (jobs === 0) return null;
  return jobs < MANY_JOBS ? WITH_FEW : WITH_MANY;
}
