import { expect, it } from 'vitest';
import { LinkOutage } from '#runtime/link/link-outage.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

it('a worker warns about a missing control plane once, and not while one is starting beside it', async () => {
  const clock = new ManualClock();
  const outage = new LinkOutage(clock);
  await clock.advance(15_000);
  expect(outage.takeWarning()).toBe(false);
  await clock.advance(1);
  expect([outage.takeWarning(), outage.takeWarning()]).toEqual([true, false]);
  outage.end();
  outage.begin();
  expect(outage.takeWarning()).toBe(false);
});
