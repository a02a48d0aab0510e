import { expect, it } from 'vitest';
import type { Clock } from '#base/clock.ts';
import { Pacer } from '#media/leg/pacer.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

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
  const pacer = new Pacer(
    clock,
    () => undefined,
    (ms) => clock.stall(ms),
  );
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

it('the pacer skips no slot when it wakes late, and first lets pending input in', () => {
  let nowMs = 0;
  let wake: () => void = () => undefined;
  const waits: number[] = [];
  const late: Clock = {
    wallTime: () => 0,
    now: () => nowMs,
    after: (ms, callback) => {
      waits.push(ms);
      wake = callback;
      return { cancel: () => undefined };
    },
    every: () => ({ cancel: () => undefined }),
    sleep: () => Promise.resolve(),
  };
  const turns: number[] = [];
  const pacer = new Pacer(
    late,
    (atMs) => turns.push(atMs),
    () => undefined,
  );
  const slots: number[] = [];
  pacer.add({ tick: (slot) => slots.push(slot), fail });
  nowMs = 93;
  wake();
  expect(slots).toEqual([]);
  expect(waits.at(-1)).toBe(0);
  // However late that makes it, it is not postponed again.
  nowMs = 133;
  wake();
  expect(slots).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(turns).toEqual([133]);
  nowMs = 150;
  wake();
  expect(slots).toHaveLength(8);
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
    (ms) => clock.stall(ms),
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
  const pacer = new Pacer(
    clock,
    () => undefined,
    (ms) => clock.stall(ms),
  );
  await clock.advance(3.4);
  const lateMs: number[] = [];
  pacer.add({ tick: (_, dueMs) => lateMs.push(clock.now() - dueMs), fail });
  await clock.advance(60_000);
  expect(lateMs.length).toBeGreaterThanOrEqual(2_999);
  for (const late of lateMs) expect(late).toBeCloseTo(0);
});

it('a member may leave during its own tick', async () => {
  const clock = new ManualClock();
  const pacer = new Pacer(
    clock,
    () => undefined,
    (ms) => clock.stall(ms),
  );
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
  const pacer = new Pacer(
    clock,
    () => undefined,
    (ms) => clock.stall(ms),
  );
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
  const pacer = new Pacer(
    clock,
    (nowMs) => turns.push(nowMs),
    (ms) => clock.stall(ms),
  );
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
