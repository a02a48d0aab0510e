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

it('while jobs run, a loop blocked since the last reading reports the complete block as its delay', () => {
  const lagMs = startLagMeter(EVERY_MS);
  lagMs(true);
  standFor(200);
  lagMs(true);
  standFor(300);
  expect(lagMs(true)).toBeGreaterThan(250);
});

it('while jobs run, one block among many turns is no delay', async () => {
  const lagMs = startLagMeter(EVERY_MS);
  lagMs(true);
  await sleep(150);
  standFor(400);
  await sleep(1_200);
  expect(lagMs(true)).toBeLessThan(200);
});

it('while jobs run, short blocks are seen', async () => {
  const lagMs = startLagMeter(EVERY_MS);
  lagMs(true);
  for (let block = 0; block < 10; block++) {
    standFor(40);
    await sleep(60);
  }
  // Samples 50 ms apart would show 3 ms of it.
  expect(lagMs(true)).toBeGreaterThan(25);
});

it('while jobs run, four of a hundred samples may be late', () => {
  const monitor = ({ resolution = 0 } = {}) => {
    const delays = createHistogram();
    for (let sample = 0; sample < 100; sample++)
      delays.record((resolution + (sample < 4 ? 400 : 0)) * 1_000_000);
    const meter: unknown = Object.assign(delays, { enable: () => true, disable: () => true });
    return meter as ReturnType<typeof monitorEventLoopDelay>;
  };
  const lagMs = startLagMeter(EVERY_MS, monitor);
  lagMs(true);
  expect(lagMs(true)).toBeLessThan(1);
});

it('without jobs, nothing wakes the thread', () => {
  const started: unknown[] = [];
  const lagMs = startLagMeter(EVERY_MS, (options) => {
    started.push(options);
    throw new Error('no samples are wanted');
  });
  lagMs(false);
  expect(started).toEqual([]);
});

it('without jobs, one late reading is no delay, and two are', () => {
  const lagMs = startLagMeter(EVERY_MS);
  lagMs(false);
  standFor(EVERY_MS + 300);
  expect(lagMs(false)).toBe(0);
  standFor(EVERY_MS + 200);
  expect(lagMs(false)).toBeGreaterThan(150);
  standFor(EVERY_MS);
  expect(lagMs(false)).toBeLessThan(150);
});
