import { describe, expect, it } from 'vitest';
import { LinkOutage } from '#runtime/link/link-outage.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

describe('a worker warns about a missing control plane', () => {
  it('once, and only after 15 s while it starts: one may be starting beside it', async () => {
    const clock = new ManualClock();
    const outage = new LinkOutage(clock);
    await clock.advance(15_000);
    expect(outage.takeWarning()).toBe(false);
    await clock.advance(1);
    expect([outage.takeWarning(), outage.takeWarning()]).toEqual([true, false]);
  });

  it('once in each later outage, after 3 s', async () => {
    const clock = new ManualClock();
    const outage = new LinkOutage(clock);
    for (let round = 0; round < 2; round++) {
      outage.end();
      outage.begin();
      await clock.advance(3_000);
      expect(outage.takeWarning()).toBe(false);
      await clock.advance(1);
      expect([outage.takeWarning(), outage.takeWarning()]).toEqual([true, false]);
    }
  });
});
