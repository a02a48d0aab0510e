import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const WEB = join(ROOT, 'web');
/** A package, without the path inside it, and without modules of Node and of this repository. */
const IMPORTED = /(?:from|import\()\s*'((?:@[a-z-]+\/)?[a-z][a-z-]*)(?:\/[^']*)?'/g;

it('the image builds its pages with the packages that they import', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-page-packages-'));
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  execFileSync(process.execPath, [join(ROOT, 'deploy/page-packages.mjs')], { cwd: folder });
  const left = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly dependencies: object;
    readonly devDependencies: object;
  };
  rmSync(folder, { recursive: true });
  const kept = Object.keys({ ...left.dependencies, ...left.devDependencies });
  const imported = readdirSync(WEB, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !file.startsWith('dist'))
    .flatMap((file) => [...readFileSync(join(WEB, file), 'utf8').matchAll(IMPORTED)])
    .map(([, name]) => name);
  // A peer of the charts.
  expect(kept.sort()).toEqual([...new Set([...imported, 'recharts'])].sort());
});
