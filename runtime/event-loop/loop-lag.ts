/** Event-loop delay of this thread, sent with each heartbeat; above a limit the worker declines new calls. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The interval of the samples, and the percentile of their delays that is reported. */
interface Sampling {
  readonly resolutionMs: number;
  readonly percentile: number;
}

/** While jobs run. */
const BUSY: Sampling = { resolutionMs: 10, percentile: 95 };
/**
 * Without jobs: few samples, because each wakes the thread. One late sample in a second is still no lag: of
 * two, the median is the earlier one.
 */
const IDLE: Sampling = { resolutionMs: 500, percentile: 50 };

/**
 * The 95th percentile of the delay since the previous call, without jobs the median, in ms. `isBusy`: whether
 * jobs run; sets the interval of the samples until the next call.
 */
export type LagMeter = (isBusy: boolean) => number;

/** Starts a meter that is not busy yet; `monitor` starts to sample the event loop. */
export function startLagMeter(monitor: typeof monitorEventLoopDelay = monitorEventLoopDelay): LagMeter {
  const start = ({ resolutionMs }: Sampling) => {
    const started = monitor({ resolution: resolutionMs });
    started.enable();
    return started;
  };
  let sampling = IDLE;
  let lag = start(sampling);
  let askedMs = performance.now();
  return (isBusy) => {
    const nowMs = performance.now();
    // A loop that turned only once in this period yields no sample.
    const lateMs = lag.count === 0 ? nowMs - askedMs : lag.percentile(sampling.percentile) / 1e6;
    const delayMs = Math.max(0, lateMs - sampling.resolutionMs);
    askedMs = nowMs;
    lag.reset();
    const wanted = isBusy ? BUSY : IDLE;
    if (wanted !== sampling) {
      lag.disable();
      sampling = wanted;
      lag = start(sampling);
    }
    return delayMs;
  };
}
