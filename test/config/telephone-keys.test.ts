import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keysField } from '#config/keys-field.ts';
import { hiddenKeys, longestPressMs, pressesOf, readKeys } from '#config/telephone-keys.ts';

describe('keys and pauses', () => {
  it('are the keys of a telephone, and pauses of half a second, one second and two', () => {
    expect(pressesOf('1wW,#')).toEqual([
      { key: '1' },
      { pauseMs: 500 },
      { pauseMs: 1_000 },
      { pauseMs: 2_000 },
      { key: '#' },
    ]);
  });

  it.each([
    ['1w2345#', '1w2345#'],
    ['1 800-555', '1800555'],
    ['a*D', 'A*D'],
    ['', null],
    ['w,W', null],
    ['12x', null],
    ['1'.repeat(65), null],
    [`1${','.repeat(31)}`, null],
    [`1${','.repeat(30)}`, `1${','.repeat(30)}`],
  ])('%j is read as %j', (text, keys) => {
    expect(readKeys(text)).toBe(keys);
  });

  it('are hidden one dot each, and take as long as before', () => {
    expect(hiddenKeys('1w23#')).toBe('•w•••');
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9*#A-DwW,]{1,20}$/), (keys) => {
        expect(hiddenKeys(keys)).not.toMatch(/[0-9*#A-D]/);
        expect(longestPressMs(hiddenKeys(keys))).toBe(longestPressMs(keys));
      }),
    );
  });

  it('take no longer than the longest time that is assumed of them', () => {
    expect(longestPressMs('12w')).toBe(2_500);
  });

  it('are refused in a request with anything else in them', () => {
    expect(['1w2#', '12 34', 'ww', '1;2'].map((keys) => keysField.safeParse(keys).success)).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});
