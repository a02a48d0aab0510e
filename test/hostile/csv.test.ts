import { describe, expect, it } from 'vitest';
import { readRecipientList } from '#control-plane/batch-calls/recipient-list.ts';
import { growthOf, MOST_GROWTH, repeated } from './growth.ts';
import { HOSTILE_TOKENS } from './tokens.ts';

const TOKENS = { ...HOSTILE_TOKENS, 'names of columns': 'c,', rows: '+1\n', 'quoted cells': '"a",', 'doubled quotes': '""', tabs: '\t' };

/** What becomes of a file does not matter here. */
function read(text: string): unknown {
  try {
    return readRecipientList(Buffer.from(text));
  } catch (error) {
    return error;
  }
}

describe('security 8: a list of people to call is read in time linear in its length', () => {
  it.each(Object.entries(TOKENS))('%s', (_, token) => {
    for (const start of ['', 'to_number\n', '"']) {
      const growth = growthOf({ make: (size) => start + repeated(token, size), run: read, longest: 60_000 });
      expect(growth.ratio, `after ${JSON.stringify(start)} at ${growth.size}`).toBeLessThanOrEqual(MOST_GROWTH);
    }
  });
});
