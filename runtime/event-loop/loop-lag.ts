/** Event-loop delay of this thread, sent with each heartbeat; above a limit the worker declines new calls. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Interval of the samples while jobs run, ms. */
const BUSY_RESOLUTION_MS = 10;
/** The same without jobs: each sample wakes the thread. */
const IDLE_RESOLUTION_MS = 100;
/** One late sample in a second is still no lag: of the ten without jobs, this is the second latest. */
const IDLE_PERCENTILE = 90;
const BUSY_PERCENTILE = 95;

/**
 * The 95th percentile of the delay since the previous call, without jobs the 90th, in ms. `isBusy`: whether
 * jobs run; sets the interval of the samples until the next call.
 */
export type LagMeter = (isBusy: boolean) => number;

/** Starts a meter that is not busy yet; `monitor` starts to sample the event loop. */
export function startLagMeter(monitor: typeof monitorEventLoopDelay = monitorEventLoopDelay): LagMeter {
  const startSampling = (resolutionMs: number) => {
    const lag = monitor({ resolution: resolutionMs });
    lag.enable();
    return { resolutionMs, lag };
  };
  let { resolutionMs, lag } = startSampling(IDLE_RESOLUTION_MS);
  let askedMs = performance.now();
  return (isBusy) => {
    const nowMs = performance.now();
    const percentile = resolutionMs === BUSY_RESOLUTION_MS ? BUSY_PERCENTILE : IDLE_PERCENTILE;
    // A loop that turned only once in this period yields no sample.
    const lateMs = lag.count === 0 ? nowMs - askedMs : lag.percentile(percentile) / 1e6;
    const delayMs = Math.max(0, lateMs - resolutionMs);
    askedMs = nowMs;
    lag.reset();
    const wantedMs = isBusy ? BUSY_RESOLUTION_MS : IDLE_RESOLUTION_MS;
    if (wantedMs !== resolutionMs) {
      lag.disable();
      ({ resolutionMs, lag } = startSampling(wantedMs));
    }
    return delayMs;
  };
}
