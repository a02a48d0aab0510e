/** The contract of every coordination implementation: two replicas `a` and `b` that share one state. */
import { describe, expect, type it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import type { Coordination, Json } from '#control-plane/platform/store/coordination.ts';

/**
 * Registers the suite. `pair` opens two replicas; an in-memory implementation may return the same object
 * twice.
 */
export function describeCoordination(
  name: string,
  test: typeof it | typeof it.skip,
  pair: () => Promise<readonly [Coordination, Coordination]>,
): void {
  let names = 0;
  const fresh = () => `${name}-${systemClock.wallTime()}-${++names}`;

  describe(`coordination: ${name}`, () => {
    test('hits of one window are counted across replicas, and only the first ones are allowed', async () => {
      const [a, b] = await pair();
      const key = fresh();
      const states = await Promise.all(
        Array.from({ length: 30 }, (_, index) => (index % 2 ? a : b).countInWindow(key, 10, 3_600_000)),
      );
      expect(states.filter((state) => state.allowed)).toHaveLength(10);
      expect(new Set(states.map((state) => state.count)).size).toBe(30);
      for (const { resetMs } of states) expect(resetMs > 0 && resetMs <= 3_600_000).toBe(true);
    });

    test('a new window starts counting at one', async () => {
      const [a] = await pair();
      const key = fresh();
      const first = await a.countInWindow(key, 1, 300);
      await systemClock.sleep(first.resetMs + 5);
      expect(await a.countInWindow(key, 1, 300)).toMatchObject({ allowed: true, count: 1 });
    });

    test('exactly one claimant of a key has it until the claim expires', async () => {
      const [a, b] = await pair();
      const [kept, short] = [fresh(), fresh()];
      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, index) => (index % 2 ? a : b).claim(kept, 60_000)),
      );
      expect(claims.filter(Boolean)).toHaveLength(1);
      expect(await a.claim(short, 40)).toBe(true);
      await systemClock.sleep(60);
      expect(await b.claim(short, 1_000)).toBe(true);
      await b.prolong(short, 1);
      await expect.poll(() => a.claim(short, 60_000)).toBe(true);
      expect(await a.claim(kept, 60_000)).toBe(false);
    });

    test('a message reaches every subscriber of its channel, and none that has unsubscribed', async () => {
      const [a, b] = await pair();
      const [channel, other] = [fresh(), fresh()];
      const heard: Json[] = [];
      const arrived = Promise.withResolvers<void>();
      const end = await b.subscribe(channel, (message) => heard.push(message));
      await a.subscribe(channel, (message) => {
        if (message === 'last') arrived.resolve();
      });
      await a.publish(other, 'elsewhere');
      await a.publish(channel, { n: 1 });
      await b.publish(channel, { n: 2 });
      await a.publish(channel, 'last');
      await arrived.promise;
      // Messages of two senders may arrive in either order.
      await expect.poll(() => heard).toHaveLength(3);
      expect(heard).toEqual(expect.arrayContaining([{ n: 1 }, { n: 2 }, 'last']));
      await end();
      const again = Promise.withResolvers<void>();
      await a.subscribe(channel, () => again.resolve());
      await a.publish(channel, { n: 3 });
      await again.promise;
      expect(heard).toHaveLength(3);
    });
  });
}
