/**
 * The documentation is consistent: every link leads to an existing file, heading or picture, and every page
 * is reachable.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { brokenLinks, linksOf, listPages } from '#scripts/links.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGES = listPages(ROOT);
const LINKS = PAGES.flatMap((page) => linksOf(ROOT, page));
const made: string[] = [];

afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Checks pages in a temporary folder; returns the broken links as `page: target`. */
function brokenIn(pages: Readonly<Record<string, string>>): string[] {
  const root = mkdtempSync(join(tmpdir(), 'parley-links-'));
  made.push(root);
  for (const [page, text] of Object.entries(pages)) {
    mkdirSync(dirname(join(root, page)), { recursive: true });
    writeFileSync(join(root, page), text);
  }
  const links = listPages(root).flatMap((page) => linksOf(root, page));
  return brokenLinks(root, links).map(({ page, target }) => `${page}: ${target}`);
}

describe('the documentation', () => {
  it('is found, including its links', () => {
    expect(PAGES).toEqual(
      expect.arrayContaining([
        'README.md',
        'docs/decisions/README.md',
        'docs/guides/twilio.md',
        'web/client/README.md',
      ]),
    );
    expect(LINKS.length).toBeGreaterThan(100);
  });

  it('has no link to a missing file or heading', () => {
    expect(brokenLinks(ROOT, LINKS)).toEqual([]);
  });

  it('can be reached completely from the README', () => {
    const reached = new Set(['README.md']);
    for (const page of reached)
      for (const { file } of linksOf(ROOT, page)) if (PAGES.includes(file)) reached.add(file);
    expect(PAGES.filter((page) => !reached.has(page))).toEqual([]);
  });

  it('has an index in docs/README.md that links every page of docs once', () => {
    const listed = linksOf(ROOT, 'docs/README.md').map(({ file }) => file);
    // Decision records have their own list.
    const pages = PAGES.filter((page) => /^docs\/(?!README\.md|decisions\/\d)/.test(page));
    expect(listed.filter((file) => pages.includes(file)).sort()).toEqual(pages);
  });

  it('has a README of at most 120 lines', () => {
    expect(readFileSync(join(ROOT, 'README.md'), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(
      120,
    );
  });
});

describe('the check for broken links', () => {
  it('reports a missing file, named by a link, a picture, a definition or HTML', () => {
    const page =
      'See [one](gone.md), ![a picture](images/gone.png) and [two][2].\n\n[2]: also-gone.md\n\n<img ' +
      'src="lost.png">\n';
    expect(brokenIn({ 'docs/page.md': page })).toEqual([
      'docs/page.md: gone.md',
      'docs/page.md: images/gone.png',
      'docs/page.md: also-gone.md',
      'docs/page.md: lost.png',
    ]);
  });

  it('reports a page that lacks the heading, on the same page or another', () => {
    const other =
      '# Other\n\n## What `code` says, and [a link](page.md)\n\n## Twice\n\n## Twice\n\n```sh\n# no ' +
      'heading\n```\n';
    const page =
      '# Page\n\n[a](#page) [b](#gone) [c](other.md#what-code-says-and-a-link) [d](other.md#twice-1) ' +
      '[e](other.md#no-heading) [f](other.md#twice-2)\n';
    expect(brokenIn({ 'docs/page.md': page, 'docs/other.md': other })).toEqual([
      'docs/page.md: #gone',
      'docs/page.md: other.md#no-heading',
      'docs/page.md: other.md#twice-2',
    ]);
  });

  it('ignores code and other sites', () => {
    const page =
      '`[a](gone.md)` [b](https://example.com/gone.md) ' +
      '[c](mailto:a@example.com)\n\n```md\n[d](gone.md)\n```\n';
    expect(brokenIn({ 'README.md': page })).toEqual([]);
  });
});
