import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { listFaults } from '#config/errors.ts';
import advice from '#scripts/error-advice.json' with { type: 'json' };
import { ERRORS_PAGE, errorsPage } from '#scripts/errors-page.ts';

it('docs/errors.md lists every fault correctly', () => {
  expect(readFileSync(ERRORS_PAGE, 'utf8')).toBe(errorsPage());
});

it('docs/errors.md says of every fault what happened and what to do, and of no other', () => {
  const codes = listFaults().map(({ code }) => code);
  expect(Object.keys(advice).sort()).toEqual([...codes].sort());
  for (const [code, texts] of Object.entries(advice))
    expect([code, texts.length, texts.every((text) => /^[A-Z`].*[.]$/.test(text))]).toEqual([code, 2, true]);
});
