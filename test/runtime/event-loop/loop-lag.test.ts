import { expect, it } from 'vitest';
import { startLagMeter } from '#runtime/event-loop/loop-lag.ts';

function standFor(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

it('a loop that stood still all the time since it was last asked is as late as that', () => {
  const lagMs = startLagMeter();
  standFor(200);
  lagMs();
  standFor(300);
  expect(lagMs()).toBeGreaterThan(250);
});
