import { describe, expect, it } from 'vitest';
import { changelogWith, isLaterVersion } from '#scripts/changelog.ts';

const entry = { version: '0.2.0', date: '2026-12-01', subjects: ['Add one thing', 'Mend another'] };

describe('the changelog of a release', () => {
  it('has an entry for each commit, before the earlier releases', () => {
    const first = changelogWith('', { version: '0.1.0', date: '2026-11-01', subjects: [] });
    expect(changelogWith(first, entry)).toBe(`# Changelog

One entry for each change, by its commit.

## 0.2.0 (2026-12-01)

- Add one thing
- Mend another

## 0.1.0 (2026-11-01)

The first release.
`);
  });

  it.each([
    ['0.2.0', '0.1.9', true],
    ['1.0.0', '0.99.99', true],
    ['0.1.10', '0.1.9', true],
    ['0.1.0', '0.1.0', false],
    ['0.0.9', '0.1.0', false],
    ['v0.2.0', '0.1.0', false],
    ['0.2', '0.1.0', false],
  ])('takes %s after %s: %s', (wanted, current, isTaken) => {
    expect(isLaterVersion(wanted, current)).toBe(isTaken);
  });
});
