import fc from 'fast-check';
import { expect, it } from 'vitest';
import { hasMoreValuesThan } from '#control-plane/platform/http/json-values.ts';

/** Counts the lists, objects and commas of a parsed value. */
function marks(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const items = Object.values(value);
  return 1 + Math.max(0, items.length - 1) + items.reduce((sum: number, item) => sum + marks(item), 0);
}

it('counts the values a parser would create, whatever the strings contain', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(fc.constantFrom('"', '\\', '[', '{', ',', 'a')), (value, odd) => {
      const all = { value, odd: odd.join(''), [odd.join('')]: odd };
      const count = marks(JSON.parse(JSON.stringify(all)));
      expect(hasMoreValuesThan(JSON.stringify(all), count)).toBe(false);
      expect(hasMoreValuesThan(JSON.stringify(all), count - 1)).toBe(true);
    }),
  );
});

it.each([
  ['brackets in brackets', '['.repeat(1_000)],
  ['empty objects', `[${'{},'.repeat(1_000)}]`],
  ['numbers', `[${'1,'.repeat(1_000)}1]`],
])('%s', (_, text) => {
  expect(hasMoreValuesThan(text, 500)).toBe(true);
});

it('a long string is one value, terminated or not', () => {
  expect(hasMoreValuesThan(JSON.stringify({ audio: '[,{'.repeat(100_000) }), 1)).toBe(false);
  expect(hasMoreValuesThan(`"${'[,{'.repeat(1_000)}`, 0)).toBe(false);
  expect(hasMoreValuesThan(`"${'\\"'.repeat(100_000)}`, 0)).toBe(false);
});
