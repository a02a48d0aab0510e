import { describe, expect, it } from 'vitest';
import { readRecipientList } from '#control-plane/jobs/batch-calls/recipient-list.ts';
import { InvalidRequest } from '#control-plane/platform/http/problems.ts';
import { MOST_GROWTH, repeated } from './growth.ts';
import { HOSTILE_TOKENS } from './tokens.ts';

const CHARS = 120_000;
const ROUNDS = 12;
const TOKENS = {
  ...HOSTILE_TOKENS,
  'names of columns': 'c,',
  rows: '+1\n',
  'quoted cells': '"a",',
  'doubled quotes': '""',
  tabs: '\t',
};

/** Many columns with distinct names of equal length, which no single token can produce. */
const columns = (count: number) =>
  Array.from({ length: count }, (_, index) => `c${100_000 + index}`).join(',');

/** It does not matter here whether the file is accepted. */
async function readMs(text: string): Promise<number> {
  const bytes = Buffer.from(text);
  const started = performance.now();
  try {
    await readRecipientList(bytes);
  } catch (error) {
    if (!(error instanceof InvalidRequest)) throw error;
  }
  return performance.now() - started;
}

/**
 * Smallest measured growth of the time with each doubling up to the longest size, because other programs also
 * use the processor.
 */
async function growthOf(
  make: (size: number) => string,
  { longest = CHARS, doublings = 1 } = {},
): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least > MOST_GROWTH; round++) {
    const short = make(longest / 2 ** doublings);
    const twiceMs = (await readMs(short)) + (await readMs(short));
    least = Math.min(least, ((2 * (await readMs(make(longest)))) / twiceMs) ** (1 / doublings));
  }
  return least;
}

describe('security 8: a call list is read in linear time', () => {
  it.each(Object.entries(TOKENS))('%s', async (_, token) => {
    for (const start of ['', 'to_number\n', '"'])
      expect(
        await growthOf((size) => start + repeated(token, size)),
        `after ${JSON.stringify(start)}`,
      ).toBeLessThanOrEqual(MOST_GROWTH);
  });

  it('columns with distinct names', async () => {
    const make = (count: number) => `to_number,${columns(count)}\n+14155550123`;
    expect(await growthOf(make, { longest: 40_000, doublings: 2 })).toBeLessThanOrEqual(MOST_GROWTH);
  });
});
