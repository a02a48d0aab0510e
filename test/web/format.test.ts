import { describe, expect, it } from 'vitest';
import { signed } from '../../web/console/src/parts/format.ts';

describe('a difference as the console shows it', () => {
  it.each([
    [-0.123, '−0.12'],
    [0.5, '0.50'],
    [-0.001, '0.00'],
  ])('has a minus sign if it is less, unless it is rounded to zero: %d', (difference, shown) => {
    expect(signed(difference, 2)).toBe(shown);
  });
});
