import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { collectGarbage, collectStartGarbage } from '#base/start-garbage.ts';
import { ManualClock } from '../fakes/manual-clock.ts';

const LONG_MS = 120_000;

/** A thread that works `workShare` of its time, on a machine that has `freeShare` of a processor free. */
function started(names: readonly string[] = ['own']) {
  const clock = new ManualClock();
  const state = { calls: 0, workShare: 0.01, freeShare: 1.5, hasFunction: true, isKnown: true, looks: 0 };
  const collected: string[] = [];
  let [nowMs, workMs, freeMs] = [0, 0, 0];
  const timeUse = () => {
    state.looks += 1;
    const passedMs = clock.now() - nowMs;
    nowMs = clock.now();
    workMs += passedMs * state.workShare;
    freeMs += passedMs * state.freeShare;
    return { workMs, freeMs: state.isKnown ? freeMs : null };
  };
  const collections = names.map((name) => () => {
    if (state.hasFunction) collected.push(name);
    return state.hasFunction;
  });
  const timer = collectStartGarbage(clock, () => state.calls === 0, { timeUse, collections });
  return { clock, state, timer, collected };
}

describe('the garbage of a start', () => {
  it('is collected once, and then left to V8', async () => {
    const { clock, collected } = started();
    await clock.advance(LONG_MS);
    expect([collected, clock.pendingTimers]).toEqual([['own'], 0]);
  });

  it('is left for the first seconds, which bring the first call', async () => {
    const { clock, collected } = started();
    await clock.advance(15_000);
    expect(collected).toEqual([]);
  });

  it.each([
    ['there is no call', { calls: 1 }, { calls: 0 }],
    ['the thread has next to nothing to do', { workShare: 0.2 }, { workShare: 0.01 }],
    ['a processor is free', { freeShare: 0.5 }, { freeShare: 1.5 }],
    ['something is known of the processors', { isKnown: false }, { isKnown: true }],
    ['no other thread collects', { hasFunction: false }, { hasFunction: true }],
  ])('is left until %s', async (_, before, after) => {
    const { clock, state, collected } = started();
    Object.assign(state, before);
    await clock.advance(LONG_MS);
    expect(collected).toEqual([]);
    Object.assign(state, after);
    await clock.advance(2 * LONG_MS);
    expect(collected).toEqual(['own']);
  });

  it.each([
    ['a call that has begun', { calls: 1 }],
    ['work that a call may have brought', { workShare: 0.2 }],
    ['others that began to use the processors', { freeShare: 0.5 }],
  ])('is left for %s in the second before', async (_, change) => {
    const { clock, state, collected } = started();
    await clock.advance(15_500);
    Object.assign(state, change);
    await clock.advance(1_000);
    expect(collected).toEqual([]);
  });

  it('is looked at ever more seldom on a machine that is always busy, but every ten minutes', async () => {
    const { clock, state } = started();
    state.freeShare = 0;
    await clock.advance(3_600_000);
    // Two readings of each look.
    expect(state.looks).toBeLessThan(22);
    const before = state.looks;
    await clock.advance(24 * 3_600_000);
    expect(state.looks - before).toBeGreaterThan(2 * 24 * 5);
  });

  it('is left if the second before was longer, because the thread was held up', async () => {
    const { clock, state, collected } = started();
    state.freeShare = 0.5;
    await clock.advance(15_500);
    clock.stall(2_000);
    await clock.advance(1_000);
    expect(collected).toEqual([]);
  });

  it('of several threads is collected one after another, each after a quiet second of its own', async () => {
    const { clock, state, collected } = started(['own', 'writer', 'reader']);
    await clock.advance(16_500);
    expect(collected).toEqual(['own']);
    state.calls = 1;
    await clock.advance(LONG_MS);
    expect(collected).toEqual(['own']);
    state.calls = 0;
    await clock.advance(LONG_MS);
    expect([collected, clock.pendingTimers]).toEqual([['own', 'writer', 'reader'], 0]);
  });

  it.each([10_000, 15_500])('is left to V8 once the thread is to end, after %i ms', async (ms) => {
    const { clock, timer, collected } = started();
    await clock.advance(ms);
    timer.cancel();
    await clock.advance(LONG_MS);
    expect([collected, clock.pendingTimers]).toEqual([[], 0]);
  });
});

describe('a collection', () => {
  it('is that of V8', async () => {
    const kept = new WeakRef({});
    await new Promise((resolve) => setImmediate(resolve));
    expect(collectGarbage()).toBe(true);
    expect(kept.deref()).toBeUndefined();
  });

  it('leaves no flag of V8 changed, with which threads could not use the compile cache', () => {
    collectGarbage();
    expect(runInNewContext('typeof gc')).toBe('undefined');
  });
});
