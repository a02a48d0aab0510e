import { describe, expect, it } from 'vitest';
import { DeliveryScheduler } from '#control-plane/calls/webhooks/delivery-scheduler.ts';

const to = (url: string) => ({ team_id: 'team', url });
const many = (count: number, url: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => to(url(index)));

describe('the slots for webhook attempts', () => {
  it('are never exceeded when new events begin while due ones are read', () => {
    const scheduler = new DeliveryScheduler();
    scheduler.begin(to('/a'));
    scheduler.begin(to('/a'));
    expect(scheduler.beginStartable(many(4, () => '/a'))).toHaveLength(2);
    expect(scheduler.beginStartable(many(20, (index) => `/${index}`))).toHaveLength(12);
    expect(scheduler.freeFor('team')).toBe(0);
  });

  it('are open to a new event only while at most half are in use, so none overtakes one that waits', () => {
    const scheduler = new DeliveryScheduler();
    const idle = () => scheduler.isIdle(to('/a'));
    scheduler.begin(to('/a'));
    expect(idle()).toBe(true);
    scheduler.begin(to('/a'));
    expect([idle(), scheduler.isIdle(to('/b'))]).toEqual([false, true]);
    scheduler.beginStartable(many(6, (index) => `/${index}`));
    expect(scheduler.isIdle(to('/b'))).toBe(false);
    scheduler.end(to('/a'));
    expect(idle()).toBe(true);
  });
});
