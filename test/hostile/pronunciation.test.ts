import { describe, expect, it } from 'vitest';
import { pronounce, pronouncing } from '#control-plane/speech/requests/pronunciation.ts';
import { growthOf, MOST_GROWTH, repeated } from './growth.ts';

/** One entry. */
const item = (key: string, value = '!', case_sensitive = false) => ({ key, value, case_sensitive });

describe('security 6: a pronunciation dictionary', () => {
  it('is applied in time linear in its entries, however similar their beginnings', () => {
    const make = (size: number) =>
      Array.from({ length: size }, (_, index) => item(`${'a'.repeat(240)}b${index}`));
    const growth = growthOf({
      make,
      run: (items) => [...pronouncing(repeated('a', 2_000), items)],
      longest: 5_000,
    });
    expect(growth.ratio).toBeLessThanOrEqual(MOST_GROWTH);
  });

  it.each([
    ['aaab', [item('a', '1'), item('aa', '2'), item('aab', '3')], '21b'],
    ['abc abd ab', [item('ab', '1'), item('abd', '2')], '1c 2 1'],
    ['Na NA na', [item('NA', '1', true), item('Na', '2', true)], '2 1 na'],
    ['Na na', [item('na', '1'), item('Na', '2', true)], '1 1'],
    ['Na na', [item('Na', '2', true), item('na', '1')], '2 1'],
    ['İstanbul ends', [item('istanbul', '1'), item('ENDS', '2')], 'İstanbul 2'],
  ])('replaces %j by the longest matching entry, from left to right', async (text, items, said) => {
    expect(await pronounce(text, items)).toBe(said);
  });
});
