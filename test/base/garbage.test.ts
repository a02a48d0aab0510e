import { runInNewContext } from 'node:vm';
import { beforeEach, describe, expect, it } from 'vitest';
import { collectGarbageAtRest, collectStartGarbage } from '#base/garbage.ts';
import { ManualClock } from '../fakes/manual-clock.ts';

const MIB = 1_048_576;

describe('the garbage of a start', () => {
  it('is collected', async () => {
    const kept = new WeakRef({});
    await new Promise((resolve) => setImmediate(resolve));
    expect(collectStartGarbage()).toBe(true);
    expect(kept.deref()).toBeUndefined();
  });

  it('is collected without a change of V8’s flags, with which threads could not use the compile cache', () => {
    collectStartGarbage();
    expect(runInNewContext('typeof gc')).toBe('undefined');
  });
});

describe('the garbage of work that is over', () => {
  let clock: ManualClock;
  let thread: { used: number; busy: number; collections: number; isAtRest: boolean };

  beforeEach(() => {
    clock = new ManualClock();
    thread = { used: 40 * MIB, busy: 0, collections: 0, isAtRest: true };
    collectGarbageAtRest(clock, () => thread.isAtRest, {
      utilisation: () => thread.busy,
      usedBytes: () => thread.used,
      collect: () => {
        thread.used = 41 * MIB;
        thread.collections += 1;
        return true;
      },
    });
  });

  const collectionsAfter = async (seconds: number) => {
    await clock.advance(1_000 * seconds);
    return thread.collections;
  };

  it('is collected once, when the thread has been at rest for ten seconds', async () => {
    thread.used = 90 * MIB;
    expect(await collectionsAfter(9)).toBe(0);
    expect(await collectionsAfter(2)).toBe(1);
    expect(await collectionsAfter(60)).toBe(1);
  });

  it('stays while the thread works or has work', async () => {
    thread.used = 90 * MIB;
    thread.busy = 0.1;
    expect(await collectionsAfter(30)).toBe(0);
    Object.assign(thread, { busy: 0, isAtRest: false });
    expect(await collectionsAfter(30)).toBe(0);
    thread.isAtRest = true;
    expect(await collectionsAfter(11)).toBe(1);
  });

  it('stays at first if there is little of it, counted from the least that was in use', async () => {
    thread.used = 55 * MIB;
    expect(await collectionsAfter(29)).toBe(0);
    thread.busy = 0.1;
    thread.used = 30 * MIB;
    expect(await collectionsAfter(10)).toBe(0);
    thread.busy = 0;
    thread.used = 47 * MIB;
    expect(await collectionsAfter(11)).toBe(1);
  });

  it('is collected even if it is little, once the thread has been at rest for thirty seconds', async () => {
    thread.used = 45 * MIB;
    expect(await collectionsAfter(31)).toBe(1);
  });

  it('is collected once if it is little: the garbage of an idle thread stays', async () => {
    expect(await collectionsAfter(31)).toBe(0);
    thread.used = 45 * MIB;
    expect(await collectionsAfter(600)).toBe(0);
    thread.busy = 0.1;
    await collectionsAfter(10);
    thread.busy = 0;
    expect(await collectionsAfter(31)).toBe(1);
  });
});
