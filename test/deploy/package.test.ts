import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningProgram } from '../journeys/program.ts';

const ROOT = join(import.meta.dirname, '../..');
const LIMIT_MS = 300_000;

describe('the npm package of a release', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'parley-package-'));
    const npm = (cwd: string, ...words: string[]) => execFileSync('npm', words, { cwd, stdio: 'pipe' });
    execFileSync(process.execPath, ['scripts/release.ts', '--draft', '--no-image'], {
      cwd: ROOT,
      // Other tests use the pages that `npm ci` built, which must not be built anew beside them.
      env: { ...process.env, npm_config_ignore_scripts: 'true' },
    });
    writeFileSync(join(folder, 'package.json'), '{}');
    const packed = ['parley-0.1.0.tgz', 'parley-api-0.1.0.tgz'].map((file) => join(ROOT, 'release', file));
    npm(folder, 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', ...packed);
  }, LIMIT_MS);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('has the built pages and nothing that builds them', () => {
    const has = (path: string) => existsSync(join(folder, 'node_modules', path));
    expect(['parley/web/dist/console/index.html', 'parley/web/dist/widget.js'].filter(has)).toHaveLength(2);
    expect(['vite', 'react', '@mantine/core', 'typescript', 'parley/web/console'].filter(has)).toEqual([]);
  });

  it('has the server libraries beside it', () => {
    const program =
      "import { Parley } from 'parley-api'; console.log(typeof new Parley({ apiKey: 'k' }).agents.list)";
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: folder });
    expect(printed.toString()).toBe('function\n');
    const contents = execFileSync('tar', [
      'tzf',
      join(ROOT, 'release', 'parley_api-0.1.0.tar.gz'),
    ]).toString();
    for (const name of ['pyproject.toml', 'PKG-INFO', 'LICENSE', 'parley_api/_generated/resources.py'])
      expect(contents).toContain(`parley_api-0.1.0/${name}\n`);
    expect(existsSync(join(folder, 'node_modules/parley-api/LICENSE'))).toBe(true);
  });

  it('runs from where it is installed', { timeout: LIMIT_MS }, async () => {
    const program = new RunningProgram([process.execPath, 'node_modules/.bin/parley', 'start'], {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: folder, PORT: '0', SIP_PORT: '0' },
    });
    try {
      const [, started = ''] = await program.printed(/^ready (\{.*\})$/m);
      const { port } = JSON.parse(started) as { port: number };
      expect((await fetch(`http://127.0.0.1:${port}/console`)).status).toBe(200);
      program.signal('SIGTERM');
      expect(await program.ended()).toBe(0);
    } finally {
      await program.close();
    }
  });
});
