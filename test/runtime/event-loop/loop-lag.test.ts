import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startLagMeter } from '#runtime/event-loop/loop-lag.ts';

function standFor(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

it.each([
  [true, 250],
  [false, 240],
])(
  'a loop blocked since the last reading reports the complete block as its delay (busy: %s)',
  (isBusy, leastMs) => {
    const lagMs = startLagMeter();
    lagMs(isBusy);
    standFor(200);
    lagMs(isBusy);
    standFor(300);
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

it('without jobs the thread is woken seldom, so that a block among few turns is the delay', async () => {
  const lagMs = startLagMeter();
  lagMs(true);
  lagMs(false);
  await sleep(150);
  standFor(400);
  await sleep(300);
  expect(lagMs(false)).toBeGreaterThan(200);
});
