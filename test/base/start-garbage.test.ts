import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { collectStartGarbage } from '#base/start-garbage.ts';

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
