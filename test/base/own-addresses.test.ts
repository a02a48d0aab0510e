import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createOwnAddresses } from '#base/own-addresses.ts';
import { ManualClock } from '../fakes/manual-clock.ts';

describe('the addresses of this machine', () => {
  it('include every interface of the machine and the whole loopback, and no other address', () => {
    const isOwn = createOwnAddresses(systemClock);
    const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    for (const { address } of addresses) expect(isOwn(address)).toBe(true);
    expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].every(isOwn)).toBe(true);
    expect(['203.0.113.200', 'localhost', ''].some(isOwn)).toBe(false);
  });

  it('follow a change of the interfaces within 5 s, and are not listed for every question', async () => {
    const clock = new ManualClock();
    let [list, listed] = [['192.0.2.1'], 0];
    const isOwn = createOwnAddresses(clock, () => {
      listed++;
      return list;
    });
    expect([isOwn('192.0.2.1'), isOwn('::ffff:192.0.2.1'), isOwn('192.0.2.2')]).toEqual([true, true, false]);
    expect(listed).toBe(1);
    list = ['192.0.2.2'];
    await clock.advance(5_000);
    expect([isOwn('192.0.2.1'), isOwn('192.0.2.2')]).toEqual([false, true]);
  });
});
