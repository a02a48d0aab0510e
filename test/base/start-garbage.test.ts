import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { collectStartGarbage } from '#base/start-garbage.ts';
import { ManualClock } from '../fakes/manual-clock.ts';

const LONG_MS = 60_000;

function started() {
  const clock = new ManualClock();
  const state = { isIdle: true, isMachineIdle: true, hasFunction: true, collections: 0 };
  const timer = collectStartGarbage(clock, () => state.isIdle, {
    isMachineIdle: () => state.isMachineIdle,
    collect: () => {
      if (state.hasFunction) state.collections += 1;
      return state.hasFunction;
    },
  });
  return { clock, state, timer };
}

describe('the garbage of a start', () => {
  it('is collected twice, and then left to V8', async () => {
    const { clock, state } = started();
    await clock.advance(LONG_MS);
    expect([state.collections, clock.pendingTimers]).toEqual([2, 0]);
  });

  it.each(['isIdle', 'isMachineIdle', 'hasFunction'] as const)(
    'is left until nobody would wait for it, and it can be collected: %s',
    async (name) => {
      const { clock, state } = started();
      state[name] = false;
      await clock.advance(LONG_MS);
      expect(state.collections).toBe(0);
      state[name] = true;
      await clock.advance(LONG_MS);
      expect(state.collections).toBe(2);
    },
  );

  it('is left to V8 once the thread is to end', async () => {
    const { clock, state, timer } = started();
    timer.cancel();
    await clock.advance(LONG_MS);
    expect(state.collections).toBe(0);
  });

  it('is collected by V8 itself', async () => {
    const clock = new ManualClock();
    const kept = new WeakRef({});
    collectStartGarbage(clock, () => true, { isMachineIdle: () => true });
    await clock.advance(LONG_MS);
    expect(kept.deref()).toBeUndefined();
  });

  it('leaves no flag of V8 changed, with which threads could not use the compile cache', async () => {
    const clock = new ManualClock();
    collectStartGarbage(clock, () => true, { isMachineIdle: () => true });
    await clock.advance(LONG_MS);
    expect(runInNewContext('typeof gc')).toBe('undefined');
  });
});
