import { createHistogram, type monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startLagMeter } from '#runtime/event-loop/loop-lag.ts';

function standFor(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

it.each([
  [true, 750],
  [false, 290],
])(
  'a loop blocked since the last reading reports all that exceeds its interval as delay (busy: %s)',
  (isBusy, leastMs) => {
    const lagMs = startLagMeter();
    lagMs(isBusy);
    standFor(200);
    lagMs(isBusy);
    standFor(800);
    expect(lagMs(isBusy)).toBeGreaterThan(leastMs);
  },
);

it('while jobs run, one block among many turns is no delay', async () => {
  const lagMs = startLagMeter();
  lagMs(true);
  await sleep(150);
  standFor(400);
  await sleep(1_200);
  expect(lagMs(true)).toBeLessThan(200);
});

it('while jobs run, short blocks are seen', async () => {
  const lagMs = startLagMeter();
  lagMs(true);
  for (let block = 0; block < 10; block++) {
    standFor(40);
    await sleep(60);
  }
  // Samples 50 ms apart would show 3 ms of it.
  expect(lagMs(true)).toBeGreaterThan(25);
});

it.each([
  { isBusy: true, resolutionMs: 10, samples: 100, late: 4 },
  { isBusy: false, resolutionMs: 500, samples: 2, late: 1 },
])('of the $samples samples in a second, $late may be late (busy: $isBusy)', (second) => {
  const monitor = ({ resolution = 0 } = {}) => {
    const delays = createHistogram();
    const isAsked = resolution === second.resolutionMs;
    for (let sample = 0; isAsked && sample < second.samples; sample++)
      delays.record((resolution + (sample < second.late ? 400 : 0)) * 1_000_000);
    const meter: unknown = Object.assign(delays, { enable: () => true, disable: () => true });
    return meter as ReturnType<typeof monitorEventLoopDelay>;
  };
  const lagMs = startLagMeter(monitor);
  // The idle samples of the start, if it is busy; they are read here.
  if (second.isBusy) lagMs(true);
  expect(lagMs(second.isBusy)).toBeLessThan(1);
});

it('without jobs the thread is woken seldom, so that a block among few turns is the delay', async () => {
  const lagMs = startLagMeter();
  lagMs(true);
  lagMs(false);
  await sleep(150);
  standFor(1_000);
  await sleep(300);
  expect(lagMs(false)).toBeGreaterThan(200);
});
