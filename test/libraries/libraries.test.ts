import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { libraryFiles } from '#scripts/libraries.ts';
import { openTestApi, type TestApi, type TestUser } from '#test/control-plane/test-api.ts';
import { itNeeds } from '../needs.ts';
import { tourInTypescript } from './typescript-tour.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);

const FINDINGS = {
  version: 1,
  prompt: 'Be brief.',
  names: ['Bar', 'Front desk', 'Kitchen'],
  menu: '# Menu',
  sample: 'RIFF1234',
  first_event: 'ready',
  webhook: 'call.ended',
  missing: { status: 404, message: '404: Not found', has_request_id: true },
  refused: 'number_not_found',
};

let api: TestApi;
let url: string;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-libraries-'));
  // The receivers of the tours are on this machine.
  api = await openTestApi({ EGRESS_ALLOW: '127.0.0.1/32' });
  url = await api.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await api?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** An account with the permissions of the tours. */
function traveller(): Promise<TestUser> {
  return api.createUser({ beta_access: true, credit: '10.00' });
}

describe('the server libraries', () => {
  it('match the API and its version (npm run libraries writes them)', async () => {
    const files = libraryFiles((await api.request('GET', '/openapi.json')).body);
    for (const [path, text] of files) expect(readFileSync(join(ROOT, path), 'utf8'), path).toBe(text);
  });

  it('in TypeScript do what an application needs, against the API', async () => {
    const { key } = await traveller();
    const findings = await tourInTypescript({ url, key, now: () => api.clock.wallTime() });
    expect(findings).toEqual(FINDINGS);
  });

  it('in TypeScript are built into JavaScript that needs nothing but Node', async () => {
    const { key, userId } = await traveller();
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [tsc, '-p', join(ROOT, 'libraries/typescript'), '--outDir', folder]);
    const program =
      `import { Parley } from '${join(folder, 'index.js')}';` +
      'console.log((await new Parley().account.get()).user_id);';
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], {
      cwd: folder,
      env: { PARLEY_URL: url, PARLEY_API_KEY: key },
    });
    expect(stdout.trim()).toBe(userId);
    expect(readFileSync(join(folder, 'index.d.ts'), 'utf8')).toContain('Parley');
  });

  itNeeds(['python3'])('in Python do what an application needs, against the API', async () => {
    const { key } = await traveller();
    const { stdout } = await run('python3', ['-B', '-W', 'error', join(import.meta.dirname, 'tour.py')], {
      env: {
        PATH: process.env['PATH'],
        PYTHONPATH: join(ROOT, 'libraries/python'),
        PARLEY_URL: url,
        PARLEY_API_KEY: key,
        NOW: String(api.clock.wallTime() / 1000),
      },
    });
    expect(JSON.parse(stdout)).toEqual(FINDINGS);
  });
});
