/**
 * `npm run check:links`: every relative link of the documentation leads to an existing file, and its
 * `#anchor` to a heading of that page. External addresses are not checked.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'docs/**/*.md',
  'deploy/*.md',
  'web/**/README.md',
  'libraries/*/README.md',
];
const MIN_LINKS = 100;

/** A relative link as written. */
export interface Link {
  /** The page that contains it; relative to the root, like `file`. */
  readonly page: string;
  readonly target: string;
  /** The linked file. */
  readonly file: string;
  /** Null without an anchor. */
  readonly anchor: string | null;
}

/** The pages of the documentation, sorted. */
export function listPages(root: string): string[] {
  return globSync(PAGES, { cwd: root, exclude: (path) => path.includes('node_modules') }).sort();
}

/** The relative links of a page, except in code blocks and code spans. */
export function linksOf(root: string, page: string): Link[] {
  const text = withoutBlocks(readFileSync(join(root, page), 'utf8')).replace(/`[^`\n]*`/g, 'code');
  const inline = text.matchAll(/\]\(<?([^()<>\s]+)>?(?: "[^"\n]*")?\)/g);
  const defined = text.matchAll(/^\[[^\]\n]+\]: *<?([^<>\s]+)/gm);
  const html = text.matchAll(/<[^<>]*\b(?:href|src)="([^"\s]+)"/g);
  return [...inline, ...defined, ...html]
    .map(([, target = '']) => target)
    .filter((target) => !/^([a-z]+:|\/\/)/.test(target))
    .map((target) => {
      const [path = '', anchor = null] = decodeURI(target).split('#');
      return {
        page,
        target,
        anchor,
        file: path === '' ? page : relative(root, join(root, dirname(page), path)),
      };
    });
}

/** Links whose file or heading does not exist. */
export function brokenLinks(root: string, links: readonly Link[]): Link[] {
  return links.filter(({ file, anchor }) => {
    if (!existsSync(join(root, file))) return true;
    return anchor !== null && file.endsWith('.md') && !anchorsOf(root, file).has(anchor);
  });
}

/** The anchors of a page, as GitHub derives them from its headings: repeated ones get a number. */
function anchorsOf(root: string, page: string): Set<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutBlocks(readFileSync(join(root, page), 'utf8')).matchAll(
    /^#{1,6} +(.+)$/gm,
  )) {
    const name = heading
      .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-');
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    anchors.add(before === 0 ? name : `${name}-${before}`);
  }
  return anchors;
}

function withoutBlocks(text: string): string {
  return text.replace(/^ *```[\s\S]*?^ *```/gm, '');
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  const links = listPages(root).flatMap((page) => linksOf(root, page));
  const broken = brokenLinks(root, links);
  for (const { page, target } of broken) console.log(`${page}: ${target}`);
  console.log(`${links.length} links, ${broken.length} broken`);
  process.exit(broken.length > 0 || links.length < MIN_LINKS ? 1 : 0);
}
