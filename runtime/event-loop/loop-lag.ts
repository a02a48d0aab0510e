/** Event-loop delay of this thread, sent with each heartbeat; above a limit the worker declines new calls. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Interval of the samples while jobs run, ms. */
const BUSY_RESOLUTION_MS = 10;
/** The same without jobs: each sample wakes the thread, and one late sample in a second is still no lag. */
const IDLE_RESOLUTION_MS = 50;

/**
 * The 95th percentile of the delay since the previous call, in ms. `isBusy`: whether jobs run; sets the
 * interval of the samples until the next call.
 */
export type LagMeter = (isBusy: boolean) => number;

/** Starts a meter that is not busy yet. */
export function startLagMeter(): LagMeter {
  let { resolutionMs, lag } = startSampling(IDLE_RESOLUTION_MS);
  let askedMs = performance.now();
  return (isBusy) => {
    const nowMs = performance.now();
    // A loop that turned only once in this period yields no sample.
    const lateMs = lag.count === 0 ? nowMs - askedMs : lag.percentile(95) / 1e6;
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

function startSampling(resolutionMs: number) {
  const lag = monitorEventLoopDelay({ resolution: resolutionMs });
  lag.enable();
  return { resolutionMs, lag };
}
