/**
 * Splits the CPU cost of calls into set-up per call (admission, first use of code, greeting) and cost per
 * minute. Subtracts the idle cost of the product. Excludes the callers, the stand-ins and the capture, which
 * are other processes.
 */

/** Cumulative CPU seconds of all threads of the product at a point in time (ms). */
export interface CpuSample {
  readonly atMs: number;
  readonly cpuSeconds: number;
}

/** When a call was placed, answered and ended, ms. */
export interface CallSpan {
  readonly placedMs: number;
  readonly answeredMs: number;
  readonly endedMs: number;
}

/** CPU seconds; NaN if the calls were too short to measure. */
export interface CpuCost {
  readonly perCallSetUp: number;
  readonly perCallMinute: number;
}

/** Set-up of a call lasts until its greeting has started: this long after the answer. */
const SET_UP_MS = 2_000;
/** The kernel counts CPU time in steps of 10 ms, so a shorter time with all calls up is too inaccurate. */
const MIN_WINDOW_MS = 5_000;

/** Splits the CPU used into the time while all calls were up and the time before. */
export function cpuCost(
  samples: readonly CpuSample[],
  calls: readonly CallSpan[],
  idlePerSecond: number,
): CpuCost {
  const placedMs = Math.min(...calls.map((call) => call.placedMs));
  const upMs = Math.max(...calls.map((call) => call.answeredMs)) + SET_UP_MS;
  const endedMs = Math.min(...calls.map((call) => call.endedMs));
  if (calls.length === 0 || endedMs - upMs < MIN_WINDOW_MS)
    return { perCallSetUp: Number.NaN, perCallMinute: Number.NaN };
  const used = (fromMs: number, untilMs: number) =>
    at(samples, untilMs) - at(samples, fromMs) - (idlePerSecond * (untilMs - fromMs)) / 1_000;
  const perCallMinute = used(upMs, endedMs) / ((calls.length * (endedMs - upMs)) / 60_000);
  const minutesInSetUp = calls.reduce((sum, call) => sum + (upMs - call.answeredMs) / 60_000, 0);
  return {
    perCallSetUp: (used(placedMs, upMs) - perCallMinute * minutesInSetUp) / calls.length,
    perCallMinute,
  };
}

/** Linear interpolation between two samples. */
function at(samples: readonly CpuSample[], ms: number): number {
  const next = samples.findIndex((sample) => sample.atMs >= ms);
  const [before, after] = [samples[next - 1], samples[next]];
  if (!after) return samples.at(-1)?.cpuSeconds ?? Number.NaN;
  if (!before) return after.cpuSeconds;
  return (
    before.cpuSeconds +
    ((after.cpuSeconds - before.cpuSeconds) * (ms - before.atMs)) / (after.atMs - before.atMs)
  );
}
