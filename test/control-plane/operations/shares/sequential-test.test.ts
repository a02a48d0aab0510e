import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  differenceInterval,
  isHigher,
  logEvidence,
  observedDifference,
} from '#control-plane/operations/shares/sequential-test.ts';

const rate = z.object({ hits: z.number(), calls: z.number() });
const { alpha, cases } = z
  .object({
    alpha: z.number(),
    cases: z.array(
      z.object({
        a: rate,
        b: rate,
        evidence: z.array(z.object({ difference: z.number(), ln: z.number() })),
        low: z.number(),
        high: z.number(),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, 'reference-figures.json'), 'utf8')));

describe('the comparison of two rates', () => {
  it.each(cases)('has the figures of scipy for $a.hits of $a.calls beside $b.hits of $b.calls', (given) => {
    for (const { difference, ln } of given.evidence)
      expect(logEvidence(given.a, given.b, difference)).toBeCloseTo(ln, 6);
    const { low, high } = differenceInterval(given.a, given.b, alpha);
    expect(low).toBeCloseTo(given.low, 8);
    expect(high).toBeCloseTo(given.high, 8);
  });

  it('says nothing without calls', () => {
    const none = { hits: 0, calls: 0 };
    expect(differenceInterval(none, none, alpha)).toEqual({ low: -1, high: 1 });
    expect(observedDifference(none, { hits: 3, calls: 5 })).toBe(0);
  });

  it('has the observed difference in its interval, which is narrower with more calls', () => {
    const few = differenceInterval({ hits: 8, calls: 40 }, { hits: 40, calls: 400 }, alpha);
    const many = differenceInterval({ hits: 800, calls: 4_000 }, { hits: 4_000, calls: 40_000 }, alpha);
    for (const { low, high } of [few, many]) expect(low < 0.1 && high > 0.1).toBe(true);
    expect(many.high - many.low).toBeLessThan((few.high - few.low) / 3);
  });

  it('finds a rate higher by more than the margin exactly if the whole interval is above it', () => {
    const [a, b] = [
      { hits: 90, calls: 300 },
      { hits: 150, calls: 1_500 },
    ];
    const { low } = differenceInterval(a, b, alpha);
    expect(low).toBeGreaterThan(0);
    expect(isHigher(a, b, { margin: low - 1e-6, alpha })).toBe(true);
    expect(isHigher(a, b, { margin: low + 1e-6, alpha })).toBe(false);
  });
});
