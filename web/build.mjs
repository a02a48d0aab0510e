/**
 * `npm run prepare`, which `npm ci` calls: builds the console, the browser client, the widget and the page of
 * exported calls into `web/dist`. A release contains them and not their sources: there is nothing to build.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const PAGES = ['console', 'client', 'widget', 'call-file'];
const vite = join(import.meta.dirname, '../node_modules/vite/bin/vite.js');

const sources = PAGES.map((page) => join(import.meta.dirname, page, 'vite.config.ts')).filter(existsSync);
if (sources.length > 0 && !existsSync(vite)) {
  console.error(
    'The pages cannot be built without the development packages: run `npm ci` without --omit=dev, ' +
      'or use a release, which contains the pages.',
  );
  process.exit(1);
}
for (const source of sources) {
  const { status } = spawnSync(process.execPath, [vite, 'build', join(source, '..')], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
