/** The versions of the server libraries, which are the product's. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** The files that contain the libraries' version, by path from the root, with this version. */
export function versionedFiles(version: string): [path: string, text: string][] {
  const versioned = (path: string, pattern: RegExp): [string, string] => [
    path,
    readFileSync(join(ROOT, path), 'utf8').replace(pattern, `$1${version}$2`),
  ];
  return [
    versioned('libraries/typescript/package.json', /("version": ")[^"]*(")/),
    versioned('libraries/typescript/src/version.ts', /(VERSION = ')[^']*(')/),
    versioned('libraries/python/pyproject.toml', /(^version = ")[^"]*(")/m),
    versioned('libraries/python/parley_api/_version.py', /(VERSION = ")[^"]*(")/),
  ];
}
