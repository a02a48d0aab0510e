import { describe, expect, it } from 'vitest';
import { drawOf } from '#control-plane/catalogue/agents/version-of-call.ts';

const CALLERS = Array.from({ length: 20_000 }, (_, index) => `caller:+1415555${index}`);
/** 99.9 % of χ² with 19 degrees of freedom, and with 1. */
const CHI_19 = 43.82;
const CHI_1 = 10.83;

/** Those that a share gets. */
const drawn = (agent: string, shareId: string, share: number) =>
  new Set(CALLERS.filter((caller) => drawOf(agent, shareId, caller) < share));

/** χ² of the table of two groups: large if one depends on the other. */
function dependence(first: ReadonlySet<string>, second: ReadonlySet<string>): number {
  let chi = 0;
  for (const inFirst of [true, false])
    for (const inSecond of [true, false]) {
      const found = CALLERS.filter(
        (one) => first.has(one) === inFirst && second.has(one) === inSecond,
      ).length;
      const of = (group: ReadonlySet<string>, isIn: boolean) =>
        isIn ? group.size : CALLERS.length - group.size;
      const expected = (of(first, inFirst) * of(second, inSecond)) / CALLERS.length;
      chi += (found - expected) ** 2 / expected;
    }
  return chi;
}

describe('the split of callers', () => {
  it.each(['agent-1', 'agent-2', 'agent-3'])('is even for %s', (agent) => {
    const buckets = new Array<number>(20).fill(0);
    for (const caller of CALLERS) {
      const draw = drawOf(agent, 'share-1', caller);
      expect(draw >= 0 && draw < 1).toBe(true);
      const bucket = Math.floor(draw * buckets.length);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    const expected = CALLERS.length / buckets.length;
    const chi = buckets.reduce((sum, found) => sum + (found - expected) ** 2 / expected, 0);
    expect(chi).toBeLessThan(CHI_19);
  });

  it('gives a caller the same draw at every call', () => {
    for (const caller of CALLERS.slice(0, 100))
      expect(drawOf('agent-1', 'share-1', caller)).toBe(drawOf('agent-1', 'share-1', caller));
  });

  it('keeps all callers of a smaller share in a larger one', () => {
    const steps = [0.01, 0.1, 0.25, 0.5, 0.9].map((share) => drawn('agent-1', 'share-1', share));
    for (const [index, larger] of steps.slice(1).entries()) {
      const smaller = steps[index] ?? new Set();
      expect(larger.size).toBeGreaterThan(smaller.size);
      expect([...smaller].filter((caller) => !larger.has(caller))).toEqual([]);
    }
  });

  it('is independent among agents, and among successive shares of an agent', () => {
    const first = drawn('agent-1', 'share-1', 0.3);
    expect(dependence(first, drawn('agent-2', 'share-1', 0.3))).toBeLessThan(CHI_1);
    expect(dependence(first, drawn('agent-1', 'share-2', 0.3))).toBeLessThan(CHI_1);
  });

  it('tells parts of the key apart that look alike together', () => {
    expect(drawOf('ab', 'c', 'd')).not.toBe(drawOf('a', 'bc', 'd'));
  });
});
