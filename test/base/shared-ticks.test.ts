import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import { SharedTicks } from '#base/shared-ticks.ts';
import { ManualClock } from '../fakes/manual-clock.ts';

/** A clock whose timers fire `earlyMs` early, and the times at which each tick was called. */
function ticking(earlyMs = 0, clock = new ManualClock()) {
  let wakeUps = 0;
  const ticks = new SharedTicks({
    now: () => clock.now(),
    after: (ms, callback) =>
      clock.after(ms - earlyMs, () => {
        wakeUps += 1;
        callback();
      }),
  });
  const every = (ms: number) => {
    const times: number[] = [];
    const timer = ticks.every(ms, () => times.push(clock.now()));
    return { times, cancel: () => timer.cancel() };
  };
  return { clock, ticks, every, wakeUps: () => wakeUps };
}

describe('the repeated timers of one thread', () => {
  it('fire together, whenever they were set', async () => {
    const { clock, every, wakeUps } = ticking();
    await clock.advance(123);
    const fast = every(500);
    await clock.advance(200);
    const slow = every(1_000);
    await clock.advance(2_677);
    expect(fast.times).toEqual([1_000, 1_500, 2_000, 2_500, 3_000]);
    expect(slow.times).toEqual([2_000, 3_000]);
    expect(wakeUps()).toBe(5);
  });

  it('of whole seconds fire together on the seconds, so that a thread without others wakes once for them', async () => {
    const { clock, every, wakeUps } = ticking();
    await clock.advance(123);
    const one = every(1_000);
    await clock.advance(600);
    const other = every(2_000);
    await clock.advance(5_277);
    expect(one.times).toEqual([2_000, 3_000, 4_000, 5_000, 6_000]);
    expect(other.times).toEqual([3_000, 5_000]);
    expect(wakeUps()).toBe(5);
  });

  it('do not fire when those of a thread with another start do', async () => {
    const clock = new ManualClock();
    const first = ticking(0, clock).every(1_000);
    await clock.advance(123);
    const other = ticking(0, clock).every(1_000);
    await clock.advance(2_000);
    expect([first.times, other.times]).toEqual([
      [1_000, 2_000],
      [1_123, 2_123],
    ]);
  });

  it('wake the thread only when one is due', async () => {
    const { clock, every, wakeUps } = ticking();
    every(2_000);
    await clock.advance(10_000);
    expect(wakeUps()).toBe(5);
  });

  it('fire once each time if the timers of the system are a little early', async () => {
    const { clock, every } = ticking(0.8);
    const { times } = every(500);
    await clock.advance(2_100);
    expect(times.map(Math.round)).toEqual([499, 999, 1_499, 1_999]);
  });

  it('are not made up for after the thread was held up', async () => {
    const { clock, every } = ticking();
    const { times } = every(500);
    clock.stall(1_700);
    await clock.advance(400);
    expect(times).toEqual([1_700, 2_000]);
  });

  it('follow a late one on the last common time within their interval', async () => {
    const { clock, every } = ticking();
    const { times } = every(1_000);
    clock.stall(1_600);
    await clock.advance(2_000);
    expect(times).toEqual([1_600, 2_500, 3_500]);
  });

  it.each([
    [400, 500, [900, 1_400, 1_900, 2_400]],
    [600, 500, [1_100, 2_100, 3_100, 4_100]],
    [600, 1_000, [1_600, 3_100, 4_600, 6_100]],
    [900, 2_000, [2_900, 5_400, 7_900, 10_400]],
  ])('that are always %i ms late still come about every %i ms', async (lateMs, everyMs, expected) => {
    const { clock, every } = ticking(-lateMs);
    const { times } = every(everyMs);
    await clock.advance(expected.at(-1) ?? 0);
    expect(times).toEqual(expected);
  });

  it('leave no timer behind when all are cancelled', async () => {
    const { clock, every } = ticking();
    const [one, other] = [every(500), every(1_000)];
    one.cancel();
    one.cancel();
    await clock.advance(1_100);
    other.cancel();
    expect({ times: one.times, timers: clock.pendingTimers }).toEqual({ times: [], timers: 0 });
  });

  it('may cancel each other', async () => {
    const { clock, ticks, every } = ticking();
    ticks.every(500, () => other.cancel());
    const other = every(500);
    await clock.advance(1_000);
    expect(other.times).toEqual([]);
  });

  it('each run in the context in which they were set', async () => {
    const { clock, ticks } = ticking();
    const context = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    context.run('a request', () => ticks.every(500, () => seen.push(context.getStore())));
    ticks.every(500, () => seen.push(context.getStore()));
    await clock.advance(500);
    expect(seen).toEqual(['a request', undefined]);
  });
});
