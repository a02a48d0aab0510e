import { describe, expect, it } from 'vitest';
import { Fault } from '#config/errors.ts';
import { readUrlencoded } from '#control-plane/request-bodies.ts';
import { growthOf, MOST_GROWTH, repeated } from './growth.ts';
import { HOSTILE_TOKENS } from './tokens.ts';

/** A form of too many fields is refused, and not read. Whatever else goes wrong is no answer. */
function read(text: string): unknown {
  try {
    return readUrlencoded(text);
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
}

describe('security 2: a form is read in time linear in its length', () => {
  it.each(Object.entries({ ...HOSTILE_TOKENS, 'names alone': 'a&', 'one value over and over': 'a=1&', escapes: '%41', 'half escapes': '%' }))(
    '%s',
    (_, token) => {
      const growth = growthOf({ make: (size) => repeated(token, size), run: read, longest: 64 * 1_024 });
      expect(growth.ratio).toBeLessThanOrEqual(MOST_GROWTH);
    },
  );
});
