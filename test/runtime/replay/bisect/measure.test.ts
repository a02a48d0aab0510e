import { describe, expect, it } from 'vitest';
import { isBad, parseMeasure } from '#runtime/replay/bisect/measure.ts';

describe('a measure', () => {
  it.each([
    ['wait_ms > 1500 at turn 3', { quantity: 'wait_ms', operator: '>', limit: 1_500, place: { turn: 3 } }],
    ['reply_ms>=2.5s', { quantity: 'reply_ms', operator: '>=', limit: 2_500, place: null }],
    ['cut_off at 1:12.5', { quantity: 'cut_off', operator: '>', limit: 0, place: { atMs: 72_500 } }],
    ['hold_line at 12s', { quantity: 'hold_line', operator: '>', limit: 0, place: { atMs: 12_000 } }],
    ['wait', { quantity: 'wait_ms', operator: '>', limit: 1_500, place: null }],
    ['not-interrupted at 0:31', { quantity: 'spoke_on', operator: '>', limit: 0, place: { atMs: 31_000 } }],
  ])('“%s” names a quantity, its bad values and a place', (text, measure) => {
    expect(parseMeasure(text)).toEqual(measure);
  });

  it.each([
    '',
    'wait_ms',
    'cut_off > 1',
    'wait_ms > at turn 3',
    'wait_ms > 1500 at',
    'wait_ms > 1500 at turn 1.5',
    'wait_ms > 1500 at turn 3 or else',
    'eagerness > 2',
    'wait_ms > 0x10',
    'constructor',
  ])('“%s” is none, and the message says how to write one', (text) => {
    expect(() => parseMeasure(text)).toThrow(/write <quantity>.*wait_ms, reply_ms, cut_off/);
  });

  it('is refused beyond its length', () => {
    expect(() => parseMeasure(`wait_ms > ${'1'.repeat(200)}`)).toThrow(/at most 200 characters/);
  });

  it.each([
    ['wait_ms < 10', [9, 10], [true, false]],
    ['wait_ms <= 10', [10, 11], [true, false]],
    ['wait_ms > 10', [10, 11], [false, true]],
    ['wait_ms >= 10', [9, 10], [false, true]],
    ['cut_off', [0, 1], [false, true]],
  ])('%s finds %j to be %j', (text, values, bad) => {
    expect(values.map((value) => isBad(parseMeasure(text), value))).toEqual(bad);
  });
});
