/**
 * `npm run libraries`: generates what the server libraries (libraries/typescript, libraries/python) know of
 * the API from its description, `/openapi.json`, and sets their versions to the product's.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { listFaults } from '#config/errors.ts';
import { openTestApi } from '#test/control-plane/test-api.ts';
import { type ApiDocument, readApi } from './libraries/operations.ts';
import { pythonReasons, pythonResources, pythonTypes } from './libraries/print-python.ts';
import { typescriptReasons, typescriptResources, typescriptTypes } from './libraries/print-typescript.ts';
import { versionedFiles } from './libraries/versions.ts';

const ROOT = join(import.meta.dirname, '..');
const TYPESCRIPT = 'libraries/typescript/src/generated';
const PYTHON = 'libraries/python/parley_api/_generated';

/**
 * The generated files by path from the root, for this description of the API. Throws if two routes would be
 * the same method.
 */
export function libraryFiles(description: ApiDocument): ReadonlyMap<string, string> {
  const api = readApi(description);
  const reasons = [...new Set(listFaults().flatMap(({ reason }) => reason ?? []))].sort();
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  return new Map([
    [`${TYPESCRIPT}/types.ts`, typescriptTypes(api)],
    [`${TYPESCRIPT}/reasons.ts`, typescriptReasons(reasons)],
    [`${TYPESCRIPT}/resources.ts`, typescriptResources(api)],
    [`${PYTHON}/__init__.py`, ''],
    [`${PYTHON}/types.py`, pythonTypes(api)],
    [`${PYTHON}/reasons.py`, pythonReasons(reasons)],
    [`${PYTHON}/resources.py`, pythonResources(api)],
    ...versionedFiles(manifest.version),
  ]);
}

if (import.meta.main) {
  const api = await openTestApi();
  const { body } = await api.request('GET', '/openapi.json');
  await api.close();
  for (const [path, text] of libraryFiles(body)) {
    mkdirSync(dirname(join(ROOT, path)), { recursive: true });
    writeFileSync(join(ROOT, path), text);
  }
}
