import { expect, it } from 'vitest';
import { attentiveClock } from '#base/attentive-clock.ts';
import type { Clock } from '#base/clock.ts';
import { ManualClock } from '../fakes/manual-clock.ts';

/**
 * A thread whose timers fire late when it is held up: time passes, but callbacks only run when the thread
 * does.
 */
function thread() {
  const timers = new ManualClock();
  let nowMs = 0;
  const clock: Clock = {
    now: () => nowMs,
    wallTime: () => nowMs,
    after: (ms, callback) => timers.after(nowMs + ms - timers.now(), callback),
    every: (ms, callback) => {
      // As in Node, the next timer is due one interval after this one ran.
      let timer = clock.after(ms, function again() {
        timer = clock.after(ms, again);
        callback();
      });
      return { cancel: () => timer.cancel() };
    },
    sleep: () => Promise.reject(new Error('not used')),
  };
  return {
    clock,
    /** Runs the thread every 10 ms. */
    async run(ms: number) {
      for (const untilMs = nowMs + ms; nowMs < untilMs; ) {
        nowMs = Math.min(untilMs, nowMs + 10);
        await timers.advance(nowMs - timers.now());
      }
    },
    async heldUp(ms: number) {
      nowMs += ms;
      await timers.advance(nowMs - timers.now());
    },
  };
}

it('a running thread calls back at the requested time', async () => {
  const { clock, run } = thread();
  const called: number[] = [];
  attentiveClock(clock).after(1_000, () => called.push(clock.now()));
  await run(3_000);
  expect(called).toEqual([1_000]);
});

it('time in which the thread was held up is not counted', async () => {
  const { clock, run, heldUp } = thread();
  const called: number[] = [];
  attentiveClock(clock).after(1_000, () => called.push(clock.now()));
  await run(500);
  await heldUp(800);
  await run(3_000);
  expect(called).toHaveLength(1);
  expect(called[0]).toBeGreaterThan(1_700);
  expect(called[0]).toBeLessThan(1_900);
});

it('a timer that fires as the thread resumes waits for pending input', async () => {
  const { clock, run, heldUp } = thread();
  let isCalled = false;
  attentiveClock(clock).after(400, () => {
    isCalled = true;
  });
  await heldUp(2_000);
  expect(isCalled).toBe(false);
  await run(500);
  expect(isCalled).toBe(true);
});

it('a timer waits at most three times as long, however busy the thread is', async () => {
  const { clock, heldUp } = thread();
  const called: number[] = [];
  attentiveClock(clock).after(1_000, () => called.push(clock.now()));
  for (let turn = 0; turn < 20; turn++) await heldUp(400);
  expect(called).toHaveLength(1);
  expect(called[0]).toBeGreaterThanOrEqual(2_800);
  expect(called[0]).toBeLessThanOrEqual(3_600);
});

it('a timer can be cancelled before and after it is postponed', async () => {
  const { clock, run, heldUp } = thread();
  const attentive = attentiveClock(clock);
  let calls = 0;
  const first = attentive.after(300, () => calls++);
  const second = attentive.after(300, () => calls++);
  first.cancel();
  await heldUp(1_000);
  second.cancel();
  await run(3_000);
  expect(calls).toBe(0);
});

it('a thread without a pending timeout is not woken', async () => {
  const { clock, run } = thread();
  let wakes = 0;
  const attentive = attentiveClock({
    ...clock,
    every: (ms, callback) =>
      clock.every(ms, () => {
        wakes += 1;
        callback();
      }),
  });
  await run(1_000);
  expect(wakes).toBe(0);
  attentive.after(500, () => undefined);
  const cancelled = attentive.after(800, () => undefined);
  await run(600);
  expect(wakes).toBeGreaterThan(0);
  cancelled.cancel();
  cancelled.cancel();
  wakes = 0;
  await run(1_000);
  expect(wakes).toBe(0);
});
