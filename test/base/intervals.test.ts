import { describe, expect, it } from 'vitest';
import { clusteredShare, NO_UNITS, ratio, wilson, withUnit } from '#base/intervals.ts';
import { createRandom } from '../simulation/random.ts';

const sumsOf = (units: readonly (readonly [number, number])[]) =>
  units.reduce((sums, [y, x]) => withUnit(sums, y, x), NO_UNITS);

describe('the interval of a share', () => {
  it('is that of Wilson', () => {
    const { value, low, high } = wilson(10, 100);
    expect(value).toBe(0.1);
    expect(low).toBeCloseTo(0.0552, 4);
    expect(high).toBeCloseTo(0.1744, 4);
  });

  it('does not promise that what was never seen never happens', () => {
    expect(wilson(0, 20).high).toBeCloseTo(0.1611, 4);
    expect(wilson(20, 20).low).toBeCloseTo(0.8389, 4);
  });

  it('is wider when its cases come in groups that are alike', () => {
    const apart = sumsOf(Array.from({ length: 100 }, (_, index) => [index % 2, 1]));
    const grouped = sumsOf(Array.from({ length: 10 }, (_, index) => [(index % 2) * 10, 10]));
    const width = ({ low, high }: { low: number | null; high: number | null }) => (high ?? 0) - (low ?? 0);
    expect(clusteredShare(apart).value).toBe(clusteredShare(grouped).value);
    expect(width(clusteredShare(grouped))).toBeGreaterThan(2 * width(clusteredShare(apart)));
  });
});

describe('the interval of a mean', () => {
  it('is that of Student for units of the same size', () => {
    const { value, low, high } = ratio(sumsOf([2, 4, 4, 4, 5, 5, 7, 9].map((y) => [y, 1])));
    // Mean 5, standard error 2.138 / √8, t = 2.365.
    expect(value).toBe(5);
    expect(low).toBeCloseTo(3.21, 1);
    expect(high).toBeCloseTo(6.79, 1);
  });

  it('is not given for a few units, or for none', () => {
    expect(ratio(sumsOf([[1, 1]]))).toEqual({ value: 1, low: null, high: null });
    expect(ratio(NO_UNITS)).toEqual({ value: 0, low: null, high: null });
    expect(wilson(0, 0)).toEqual({ value: 0, low: null, high: null });
  });

  it('contains the true mean about nineteen times in twenty', () => {
    const random = createRandom(1);
    let covered = 0;
    for (let round = 0; round < 1_000; round += 1) {
      const units = Array.from({ length: 40 }, () => {
        const size = 1 + Math.floor(random.next() * 5);
        return [size * 100 * random.next(), size] as const;
      });
      const { low, high } = ratio(sumsOf(units));
      if ((low ?? 0) <= 50 && (high ?? 0) >= 50) covered += 1;
    }
    expect(covered).toBeGreaterThan(920);
    expect(covered).toBeLessThan(980);
  });
});
