/**
 * Splits the CPU that calls cost the product's processes into set-up per call (admission, first use of code,
 * greeting) and cost per minute. Subtracts the idle product. Excludes the callers, the stand-ins and the
 * capture, which are other processes.
 */

/** CPU seconds used so far by all threads of the product at a time, ms. */
export interface CpuSample {
  readonly atMs: number;
  readonly cpuSeconds: number;
}

/** When a call was placed, answered and over, ms. */
export interface CallSpan {
  readonly placedMs: number;
  readonly answeredMs: number;
  readonly endedMs: number;
}

/** CPU seconds; NaN where the calls were too short to tell. */
export interface CpuCost {
  readonly perCallSetUp: number;
  readonly perCallMinute: number;
}

/** A call is set up once its greeting is under way: this long after the answer. */
const SET_UP_MS = 2_000;
/** A shorter time in which all calls are up says nothing, given the 10 ms the kernel counts in. */
const LEAST_MS = 5_000;

/** Splits what was used: while every call was up, and before that. */
export function cpuCost(
  samples: readonly CpuSample[],
  calls: readonly CallSpan[],
  idlePerSecond: number,
): CpuCost {
  const placedMs = Math.min(...calls.map((call) => call.placedMs));
  const upMs = Math.max(...calls.map((call) => call.answeredMs)) + SET_UP_MS;
  const endedMs = Math.min(...calls.map((call) => call.endedMs));
  if (calls.length === 0 || endedMs - upMs < LEAST_MS)
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

/** Between two samples, the straight line. */
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
