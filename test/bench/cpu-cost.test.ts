import { expect, it } from 'vitest';
import { type CpuSample, cpuCost } from '#bench/cpu-cost.ts';

it('separates the cost per call, the cost per minute and the idle cost of the product', () => {
  // Two calls that cost 0.5 s each to set up and 0.6 s a minute, with an idle cost of 0.1 s a second.
  const calls = [
    { placedMs: 0, answeredMs: 1_000, endedMs: 63_000 },
    { placedMs: 0, answeredMs: 1_000, endedMs: 64_000 },
  ];
  const samples: CpuSample[] = [];
  for (let atMs = 0; atMs <= 64_000; atMs += 500) {
    const minutes = (2 * Math.max(0, Math.min(atMs, 63_000) - 1_000)) / 60_000;
    samples.push({ atMs, cpuSeconds: 7 + (atMs / 1_000) * 0.1 + Math.min(1, atMs / 1_000) + minutes * 0.6 });
  }
  const cost = cpuCost(samples, calls, 0.1);
  expect(cost.perCallMinute).toBeCloseTo(0.6, 6);
  expect(cost.perCallSetUp).toBeCloseTo(0.5, 6);
});

it('gives no result for calls that hardly overlapped', () => {
  const cost = cpuCost([{ atMs: 0, cpuSeconds: 0 }], [{ placedMs: 0, answeredMs: 100, endedMs: 4_000 }], 0);
  expect(cost).toEqual({ perCallSetUp: Number.NaN, perCallMinute: Number.NaN });
});
