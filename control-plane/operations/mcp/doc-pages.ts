/** The documentation as text: for `/llms.txt`, and as resources of the MCP server. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';

/** Folders with pages, relative to the root; every page in `docs`. */
const FOLDERS = ['docs', 'deploy', 'web/client'];
const OF_ROOT = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md'];
const INDEX = 'docs/README.md';

/** A page. */
export interface DocPage {
  /** Relative to the root, such as `docs/tools.md`. */
  readonly path: string;
  readonly title: string;
  readonly text: string;
}

/** Reads the pages of an installation, by path. One made from a package has those of the package. */
export function readPages(root: string): ReadonlyMap<string, DocPage> {
  const inFolder = (folder: string) =>
    existsSync(join(root, folder))
      ? readdirSync(join(root, folder), { recursive: folder === 'docs', encoding: 'utf8' })
          .filter((file) => file.endsWith('.md'))
          .map((file) => `${folder}/${file.replaceAll(sep, '/')}`)
      : [];
  const paths = [...OF_ROOT.filter((file) => existsSync(join(root, file))), ...FOLDERS.flatMap(inFolder)];
  return new Map(
    paths.map((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      return [path, { path, title: /^# (.+)$/m.exec(text)?.[1] ?? path, text }];
    }),
  );
}

/** The index of the documentation with absolute links below `base`, which ends with `/`: llmstxt.org. */
export function llmsText(pages: ReadonlyMap<string, DocPage>, base: string): string | null {
  const index = pages.get(INDEX);
  if (!index) return null;
  return index.text
    .split('\n')
    .filter((line) => !line.startsWith('!['))
    .join('\n')
    .replaceAll(/\]\(([^()\s\]]+)\)/g, (_link, target: string) => {
      return `](${new URL(target, new URL(INDEX, base)).href})`;
    });
}
