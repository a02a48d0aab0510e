/**
 * The documentation reads as one book: every link leads to a file, a heading or a picture that is there, and
 * every page can be reached from the README.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGES = globSync(['*.md', '.github/**/*.md', 'docs/**/*.md', 'web/**/*.md', 'deploy/**/*.md'], {
  cwd: ROOT,
  exclude: (path) => path.includes('node_modules'),
}).sort();

interface Link {
  readonly page: string;
  readonly target: string;
}

/** The text a reader sees as prose: blocks and spans of code link nowhere. */
function proseOf(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8')
    .replace(/^```[\s\S]*?^```/gm, '')
    .replace(/`[^`\n]*`/g, 'code');
}

function linksOf(page: string): Link[] {
  return [...proseOf(page).matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = '']) => ({ page, target }));
}

/** The anchors of a page, as GitHub makes them out of its headings. */
function anchorsOf(page: string): Set<string> {
  const headings = readFileSync(join(ROOT, page), 'utf8')
    .replace(/^```[\s\S]*?^```/gm, '')
    .matchAll(/^#{1,6} +(.+)$/gm);
  return new Set(
    [...headings].map(([, text = '']) =>
      text
        .trim()
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

const LINKS = PAGES.flatMap(linksOf);
const isOutside = ({ target }: Link) => /^[a-z]+:/.test(target);
const fileOf = ({ page, target }: Link) => {
  const [path = ''] = target.split('#');
  return path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path));
};

describe('the documentation', () => {
  it('is found, with the links in it', () => {
    expect(PAGES).toEqual(
      expect.arrayContaining([
        'README.md',
        'docs/decisions/README.md',
        'docs/guides/twilio.md',
        'web/client/README.md',
      ]),
    );
    expect(LINKS.length).toBeGreaterThan(50);
  });

  it('every link leads to a file that is there, and to a heading where it names one', () => {
    const dead = LINKS.filter((link) => !isOutside(link)).filter((link) => {
      const [file, anchor] = [fileOf(link), link.target.split('#')[1]];
      return (
        !existsSync(join(ROOT, file)) ||
        (anchor !== undefined && file.endsWith('.md') && !anchorsOf(file).has(anchor))
      );
    });
    expect(dead).toEqual([]);
  });

  it('every page can be reached from the README', () => {
    const reached = new Set(['README.md']);
    for (const page of reached)
      for (const link of linksOf(page))
        if (!isOutside(link) && PAGES.includes(fileOf(link))) reached.add(fileOf(link));
    expect(PAGES.filter((page) => !reached.has(page))).toEqual([]);
  });
});
