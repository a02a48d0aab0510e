import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ERRORS_PAGE, errorsPage } from '#scripts/errors-page.ts';

it('docs/errors.md lists every fault correctly', () => {
  expect(readFileSync(ERRORS_PAGE, 'utf8')).toBe(errorsPage());
});
