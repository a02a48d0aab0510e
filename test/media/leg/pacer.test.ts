import { MessageChannel } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { Pacer } from '#media/leg/pacer.ts';
import { thisThread } from '#media/leg/pacer-thread.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { manualThread } from '../../fakes/manual-thread.ts';

/** Its timers drop the fraction of a millisecond, as those of Node do. */
class WholeMs extends ManualClock {
  override after(ms: number, callback: () => void) {
    return super.after(Math.trunc(ms), callback);
  }
}

const fail = (error: unknown) => {
  throw error;
};

it('the pacer ticks each member once per 20 ms, spread over the wheel', async () => {
  const clock = new ManualClock();
  const pacer = new Pacer(clock, () => undefined, manualThread(clock));
  const ticks: [number, number, number][] = [];
  const origins = [0, 1, 2, 3].map((thing) =>
    pacer.add({ tick: (slot, dueMs) => ticks.push([thing, slot, dueMs]), fail }),
  );
  await clock.advance(60);
  expect([...origins].sort((a, b) => a - b)).toEqual([5, 10, 15, 20]);
  for (const [thing, slot, dueMs] of ticks) expect(dueMs).toBe((origins[thing] ?? 0) + slot * 20);
  expect(ticks.filter(([thing]) => thing === 0).map(([, slot]) => slot)).toEqual([0, 1, 2]);
  pacer.close();
  expect(clock.pendingTimers).toBe(0);
});

it('after a late wake-up the pacer skips no slot', async () => {
  const clock = new ManualClock();
  const turns: number[] = [];
  const pacer = new Pacer(clock, (atMs) => turns.push(atMs), manualThread(clock));
  const slots: number[] = [];
  pacer.add({ tick: (slot) => slots.push(slot), fail });
  clock.stall(133);
  await clock.advance(0);
  expect(slots).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(turns).toEqual([133]);
  await clock.advance(12);
  expect(slots).toHaveLength(8);
});

it('what has arrived for the thread by a tick is read before the tick', async () => {
  const clock = new WholeMs();
  await clock.advance(0.7);
  const happened: string[] = [];
  const pacer = new Pacer(clock, () => undefined, {
    hold: (ms) => {
      clock.stall(ms);
      happened.push('arrived');
    },
    afterReading: (callback) =>
      clock.after(0, () => {
        happened.push('read');
        // As packets do that have something to report.
        pacer.wake();
        callback();
      }),
  });
  await clock.advance(3.4);
  pacer.add({ tick: () => happened.push('ticked'), fail });
  await clock.advance(5);
  expect(happened).toEqual(['arrived', 'read', 'ticked']);
});

it('a thread reads its messages before it goes on', async () => {
  const { port1, port2 } = new MessageChannel();
  const happened: string[] = [];
  port2.on('message', () => happened.push('read'));
  await new Promise<void>((resolve) => {
    systemClock.after(1, () => {
      port1.postMessage(null);
      thisThread.hold(0.5);
      thisThread.afterReading(resolve);
    });
  });
  expect(happened).toEqual(['read']);
  port1.close();
});

it('a tick takes one wake-up, though timers drop the fraction of a millisecond', async () => {
  const clock = new WholeMs();
  await clock.advance(0.7);
  let turns = 0;
  const pacer = new Pacer(
    clock,
    () => {
      turns += 1;
    },
    manualThread(clock),
  );
  // Between two whole milliseconds.
  await clock.advance(3.4);
  const ticks: number[] = [];
  pacer.add({ tick: (slot) => ticks.push(slot), fail });
  await clock.advance(100);
  expect(ticks.length).toBeGreaterThan(3);
  expect(turns).toBe(ticks.length);
});

it('ticks are exactly on the grid for as long as the pacer runs, though timers drop fractions', async () => {
  const clock = new WholeMs();
  await clock.advance(0.7);
  const pacer = new Pacer(clock, () => undefined, manualThread(clock));
  await clock.advance(3.4);
  const lateMs: number[] = [];
  pacer.add({ tick: (_, dueMs) => lateMs.push(clock.now() - dueMs), fail });
  await clock.advance(60_000);
  expect(lateMs.length).toBeGreaterThanOrEqual(2_999);
  for (const late of lateMs) expect(late).toBeCloseTo(0);
});

it('a member may leave during its own tick', async () => {
  const clock = new ManualClock();
  const pacer = new Pacer(clock, () => undefined, manualThread(clock));
  let ticks = 0;
  const once = {
    tick: () => {
      ticks++;
      pacer.remove(once);
    },
    fail,
  };
  pacer.add(once);
  await clock.advance(100);
  expect(ticks).toBe(1);
  pacer.close();
});

it('the pacer keeps ticking when one member throws', async () => {
  const clock = new ManualClock();
  const pacer = new Pacer(clock, () => undefined, manualThread(clock));
  const faults: unknown[] = [];
  const broken = {
    tick: () => {
      throw new Error('broken');
    },
    fail: (error: unknown) => {
      faults.push(error);
      pacer.remove(broken);
    },
  };
  let ticks = 0;
  pacer.add(broken);
  pacer.add({ tick: () => ticks++, fail });
  await clock.advance(100);
  expect(faults).toHaveLength(1);
  expect(ticks).toBe(5);
  pacer.close();
});

it('the pacer sleeps when it has no members, and wakes for pending output', async () => {
  const clock = new ManualClock();
  const turns: number[] = [];
  const pacer = new Pacer(clock, (nowMs) => turns.push(nowMs), manualThread(clock));
  await clock.advance(1000);
  expect(clock.pendingTimers).toBe(0);
  pacer.wake();
  pacer.wake();
  await clock.advance(100);
  expect(turns).toEqual([1005]);
  const slots: number[] = [];
  const thing = { tick: (slot: number) => slots.push(slot), fail };
  expect(pacer.add(thing)).toBe(1105);
  await clock.advance(50);
  expect(slots).toEqual([0, 1, 2]);
  expect(turns).toEqual([1005, 1105, 1125, 1145]);
  pacer.remove(thing);
  await clock.advance(100);
  expect(clock.pendingTimers).toBe(0);
});
