import { expect, it } from 'vitest';
import { startLagMeter } from '#runtime/event-loop/loop-lag.ts';

function standFor(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

it('a loop blocked since the last reading reports the complete block as its delay', () => {
  const lagMs = startLagMeter();
  standFor(200);
  lagMs();
  standFor(300);
  expect(lagMs()).toBeGreaterThan(250);
});
