import { createHistogram, type monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startLagMeter } from '#runtime/event-loop/loop-lag.ts';

function standFor(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

/** Interval of the readings. */
const EVERY_MS = 200;
const MANY = 4;

/** Samples the event loop no more: it has seen a hundred delays, so many of them 400 ms long. */
function seen(late: number) {
  return ({ resolution = 0 } = {}) => {
    const delays = createHistogram();
    for (let sample = 0; sample < 100; sample++)
      delays.record((resolution + (sample < late ? 400 : 0)) * 1_000_000);
    const meter: unknown = Object.assign(delays, { enable: () => true, disable: () => true });
    return meter as ReturnType<typeof monitorEventLoopDelay>;
  };
}

it('while many jobs run, a loop blocked since the last reading reports the complete block as its delay', () => {
  const lagMs = startLagMeter(EVERY_MS);
  lagMs(MANY);
  standFor(200);
  lagMs(MANY);
  standFor(300);
  expect(lagMs(MANY)).toBeGreaterThan(250);
});

it('while many jobs run, one block among many turns is no delay', async () => {
  const lagMs = startLagMeter(EVERY_MS);
  lagMs(MANY);
  await sleep(150);
  standFor(400);
  await sleep(1_200);
  expect(lagMs(MANY)).toBeLessThan(200);
});

it('while many jobs run, short blocks are seen', async () => {
  const lagMs = startLagMeter(EVERY_MS);
  lagMs(MANY);
  for (let block = 0; block < 10; block++) {
    standFor(40);
    await sleep(60);
  }
  // Samples 50 ms apart would show 3 ms of it.
  expect(lagMs(MANY)).toBeGreaterThan(25);
});

it('while many jobs run, four of a hundred samples may be late', () => {
  const lagMs = startLagMeter(EVERY_MS, seen(4));
  lagMs(MANY);
  expect(lagMs(MANY)).toBeLessThan(1);
});

it('while one job runs, nine of a hundred samples may be late', () => {
  const lagMs = startLagMeter(EVERY_MS, seen(9));
  lagMs(1);
  expect(lagMs(1)).toBeLessThan(1);
});

it('while one job runs, a loop that is late all the time is seen', async () => {
  const lagMs = startLagMeter(EVERY_MS);
  lagMs(1);
  const untilMs = performance.now() + 600;
  while (performance.now() < untilMs) {
    standFor(120);
    await sleep(1);
  }
  // Samples 50 ms apart show at least 70 ms of it.
  expect(lagMs(1)).toBeGreaterThan(60);
});

it('while few jobs run, the thread is woken a fifth as often as with many', () => {
  const intervals: (number | undefined)[] = [];
  const lagMs = startLagMeter(EVERY_MS, (options) => {
    intervals.push(options?.resolution);
    return seen(0)(options);
  });
  for (const jobs of [1, 3, 4, 50, 2]) lagMs(jobs);
  expect(intervals).toEqual([50, 10, 50]);
});

it('without jobs, nothing wakes the thread', () => {
  const started: unknown[] = [];
  const lagMs = startLagMeter(EVERY_MS, (options) => {
    started.push(options);
    throw new Error('no samples are wanted');
  });
  lagMs(0);
  expect(started).toEqual([]);
});

it('without jobs, one late reading is no delay, and two are', () => {
  const lagMs = startLagMeter(EVERY_MS);
  lagMs(0);
  standFor(EVERY_MS + 300);
  expect(lagMs(0)).toBe(0);
  standFor(EVERY_MS + 200);
  expect(lagMs(0)).toBeGreaterThan(150);
  standFor(EVERY_MS);
  expect(lagMs(0)).toBeLessThan(150);
});
