/** Event-loop delay of this thread, sent with each heartbeat; above a limit the worker declines new calls. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 10;

/** Returns a function that gives the 95th percentile of the delay since the previous call, in ms. */
export function startLagMeter(): () => number {
  const lag = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  lag.enable();
  let askedMs = performance.now();
  return () => {
    const nowMs = performance.now();
    // A loop that turned only once in this period yields no sample.
    const lateMs = lag.count === 0 ? nowMs - askedMs : lag.percentile(95) / 1e6;
    askedMs = nowMs;
    lag.reset();
    return Math.max(0, lateMs - RESOLUTION_MS);
  };
}
