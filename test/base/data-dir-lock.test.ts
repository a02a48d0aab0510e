import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { lockDataDir } from '#base/data-dir-lock.ts';

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-lock-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

it('a second program is rejected with one line until the first is killed', async () => {
  const program =
    'const { lockDataDir } = await ' +
    `import(${JSON.stringify(import.meta.resolve('#base/data-dir-lock.ts'))}); ` +
    `lockDataDir(${JSON.stringify(dataDir)}); console.log('locked'); setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  expect(() => lockDataDir(dataDir)).toThrow(/^DATA_DIR .* is in use by another running Parley$/);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  lockDataDir(dataDir).release();
});

it('a released lock can be acquired again, in a directory created on demand', () => {
  const fresh = join(dataDir, 'a', 'b');
  const lock = lockDataDir(fresh);
  expect(() => lockDataDir(fresh)).toThrow('in use');
  lock.release();
  lock.release();
  lockDataDir(fresh).release();
});
