/** How late the event loop of this thread is: what a worker tells with every heartbeat, and takes no new call above a limit of. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 10;

/** Returns what tells the 95th percentile of the event loop's lateness since it was last asked, ms. */
export function startLagMeter(): () => number {
  const lag = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  lag.enable();
  let askedMs = performance.now();
  return () => {
    const nowMs = performance.now();
    // A loop that has turned but once in all the time gives no sample.
    const lateMs = lag.count === 0 ? nowMs - askedMs : lag.percentile(95) / 1e6;
    askedMs = nowMs;
    lag.reset();
    return Math.max(0, lateMs - RESOLUTION_MS);
  };
}
