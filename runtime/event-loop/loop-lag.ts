/** Event-loop delay of this thread, sent with each heartbeat; above a limit the worker declines new calls. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Interval of the samples while the worker is busy, ms. */
const RESOLUTION_MS = 10;
/** Of the delays since the previous reading while the worker is busy. */
const PERCENTILE = 95;

/**
 * The delay of the event loop, ms, read once per heartbeat. `isBusy`: whether enough jobs run for it to be
 * sampled until the next reading, which then is the 95th percentile of the delays since this one.
 */
export type LagMeter = (isBusy: boolean) => number;

/**
 * Starts a meter that is not busy yet. Until it is, nothing wakes the thread to measure it: the delay is what
 * both of the last two readings, due every `everyMs`, were late. One late reading is no lag. `monitor` starts
 * to sample the event loop.
 */
export function startLagMeter(
  everyMs: number,
  monitor: typeof monitorEventLoopDelay = monitorEventLoopDelay,
): LagMeter {
  let samples: ReturnType<typeof monitorEventLoopDelay> | null = null;
  let askedMs = performance.now();
  let earlierMs = 0;
  const read = (sinceMs: number): number => {
    if (samples === null) return Math.min(earlierMs, sinceMs - everyMs);
    // A loop that turned only once in this period yields no sample.
    return (samples.count === 0 ? sinceMs : samples.percentile(PERCENTILE) / 1e6) - RESOLUTION_MS;
  };
  return (isBusy) => {
    const nowMs = performance.now();
    const sinceMs = nowMs - askedMs;
    const delayMs = Math.max(0, read(sinceMs));
    askedMs = nowMs;
    earlierMs = sinceMs - everyMs;
    samples?.reset();
    if (isBusy === (samples !== null)) return delayMs;
    samples?.disable();
    samples = isBusy ? monitor({ resolution: RESOLUTION_MS }) : null;
    samples?.enable();
    return delayMs;
  };
}
