import { describe, expect, it } from 'vitest';
import { findFirstBad, type Judged } from '#runtime/replay/bisect/first-bad.ts';

/** Searches versions given as letters, oldest first: g(ood), b(ad), or ? that cannot be judged. */
async function search(versions: string) {
  const asked: number[] = [];
  const verdicts: Readonly<Record<string, Judged>> = { g: 'good', b: 'bad' };
  const found = await findFirstBad(versions.length, async (index) => {
    asked.push(index);
    return verdicts[versions[index] ?? ''] ?? 'unjudged';
  });
  return { ...found, asked };
}

describe('the first bad version', () => {
  it.each([
    ['gb', 0, 1],
    ['gggggbbbbbbbbb', 4, 5],
    ['ggggggggggggb', 11, 12],
    ['gbbbbbbbbbbbbbbbb', 0, 1],
  ])('of %s follows the last good one', async (versions, good, bad) => {
    expect(await search(versions)).toMatchObject({ good, bad, between: [] });
  });

  it('is the one nearest to the call if versions were bad before', async () => {
    expect(await search('bbbbggbb')).toMatchObject({ good: 5, bad: 6 });
  });

  it('is unknown if none is good, or there is no other', async () => {
    expect(await search('bbbb')).toMatchObject({ good: null });
    expect(await search('???b')).toMatchObject({ good: null });
    expect(await search('b')).toMatchObject({ good: null, asked: [] });
  });

  it('is found around versions that cannot be judged', async () => {
    expect(await search('gg?g?bb?b?b')).toMatchObject({ good: 3, bad: 5, between: [4] });
    expect(await search('g???????b')).toMatchObject({ good: 0, bad: 8, between: [1, 2, 3, 4, 5, 6, 7] });
  });

  it('is found among 1000 by looking at few, at each once', async () => {
    const { asked, bad } = await search(`${'g'.repeat(612)}${'b'.repeat(388)}`);
    expect(bad).toBe(612);
    expect(asked.length).toBeLessThan(25);
    expect(new Set(asked).size).toBe(asked.length);
  });
});
