/** The Python library as a source distribution, which `pip install` takes. */
import { execFileSync } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';

const ROOT = join(import.meta.dirname, '../..');
const LIBRARY = join(ROOT, 'libraries/python');

/** Writes `parley_api-VERSION.tar.gz` to a folder; returns its path. */
export async function packPython(folder: string, version: string): Promise<string> {
  const name = `parley_api-${version}`;
  const file = join(folder, `${name}.tar.gz`);
  const archive = pack();
  const written = pipeline(archive, createGzip(), createWriteStream(file));
  const listed = execFileSync('git', ['ls-files'], { cwd: LIBRARY, encoding: 'utf8' }).trim().split('\n');
  for (const path of listed.filter((one) => !one.startsWith('tests/')))
    archive.entry({ name: `${name}/${path}` }, readFileSync(join(LIBRARY, path)));
  archive.entry({ name: `${name}/LICENSE` }, readFileSync(join(ROOT, 'LICENSE')));
  archive.entry(
    { name: `${name}/PKG-INFO` },
    `Metadata-Version: 2.1\nName: parley-api\nVersion: ${version}\n`,
  );
  archive.finalize();
  await written;
  return file;
}
