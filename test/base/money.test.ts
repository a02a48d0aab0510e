import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMoney, parseMoney, perMinute } from '#base/money.ts';

describe('money', () => {
  it('formatted amounts can be parsed again, to the micro-dollar', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -999_999_999_000_000, max: 999_999_999_000_000 }),
        (micros) => parseMoney(formatMoney(micros)) === micros,
      ),
    );
  });

  it('amounts have two to six decimal places', () => {
    expect(formatMoney(10_000_000)).toBe('10.00');
    expect(formatMoney(1_234_500)).toBe('1.2345');
    expect(formatMoney(-1)).toBe('-0.000001');
    fc.assert(
      fc.property(fc.integer({ min: -1e15, max: 1e15 }), (micros) =>
        /^-?\d+\.\d{2,6}$/.test(formatMoney(micros)),
      ),
    );
  });

  it.each(['', '1.', '.5', '1e3', '1,000', '0.1234567', 'NaN', '12345678901', ' 1'])(
    '%j is not an amount',
    (text) => expect(parseMoney(text)).toBeNull(),
  );

  it('a price per minute is charged by the second and rounded to the micro-dollar', () => {
    expect(perMinute(60_000, 1)).toBe(1_000);
    expect(perMinute(70_000, 61)).toBe(71_167);
  });
});
