import { describe, expect, it } from 'vitest';
import { readRecipientList } from '#control-plane/batch-calls/recipient-list.ts';
import { InvalidRequest } from '#control-plane/problems.ts';
import { MOST_GROWTH, repeated } from './growth.ts';
import { HOSTILE_TOKENS } from './tokens.ts';

const CHARS = 120_000;
const ROUNDS = 12;
const TOKENS = { ...HOSTILE_TOKENS, 'names of columns': 'c,', rows: '+1\n', 'quoted cells': '"a",', 'doubled quotes': '""', tabs: '\t' };

/** Columns with names of their own, as no token makes them. */
const columns = Array.from({ length: CHARS / 4 }, (_, index) => `c${index}`).join(',');

/** Whether a file is taken does not matter here. */
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

/** The growth from half the length to all of it, at its least: others use the processor as well. */
async function growthOf(make: (size: number) => string): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least > MOST_GROWTH; round++) {
    const half = make(CHARS / 2);
    const twiceMs = (await readMs(half)) + (await readMs(half));
    least = Math.min(least, (2 * (await readMs(make(CHARS)))) / twiceMs);
  }
  return least;
}

describe('security 8: a list of people to call is read in time linear in its length', () => {
  it.each(Object.entries(TOKENS))('%s', async (_, token) => {
    for (const start of ['', 'to_number\n', '"'])
      expect(await growthOf((size) => start + repeated(token, size)), `after ${JSON.stringify(start)}`).toBeLessThanOrEqual(MOST_GROWTH);
  });

  it('columns with names of their own', async () => {
    expect(await growthOf((size) => `to_number,${columns.slice(0, size)}\n+14155550123`)).toBeLessThanOrEqual(MOST_GROWTH);
  });
});
