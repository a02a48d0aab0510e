import { describe, expect, it } from 'vitest';
import { readRecipientList } from '#control-plane/batch-calls/recipient-list.ts';
import { MOST_GROWTH, repeated } from './growth.ts';
import { HOSTILE_TOKENS } from './tokens.ts';

const CHARS = 120_000;
const ROUNDS = 12;
const TOKENS = { ...HOSTILE_TOKENS, 'names of columns': 'c,', rows: '+1\n', 'quoted cells': '"a",', 'doubled quotes': '""', tabs: '\t' };

/** What becomes of a file does not matter here. */
async function readMs(text: string): Promise<number> {
  const bytes = Buffer.from(text);
  const started = performance.now();
  await readRecipientList(bytes).catch(() => undefined);
  return performance.now() - started;
}

/** The growth from half the length to all of it, at its least: others use the processor as well. */
async function growthFrom(start: string, token: string): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least > MOST_GROWTH; round++) {
    const half = start + repeated(token, CHARS / 2);
    const twiceMs = (await readMs(half)) + (await readMs(half));
    least = Math.min(least, (2 * (await readMs(start + repeated(token, CHARS)))) / twiceMs);
  }
  return least;
}

describe('security 8: a list of people to call is read in time linear in its length', () => {
  it.each(Object.entries(TOKENS))('%s', async (_, token) => {
    for (const start of ['', 'to_number\n', '"'])
      expect(await growthFrom(start, token), `after ${JSON.stringify(start)}`).toBeLessThanOrEqual(MOST_GROWTH);
  });
});
