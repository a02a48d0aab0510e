import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { API_TYPES, apiTypes } from '#scripts/console-types.ts';

it('the console’s types match those of the routes (npm run console:types writes them)', async () => {
  expect(readFileSync(API_TYPES, 'utf8')).toBe(await apiTypes());
});
