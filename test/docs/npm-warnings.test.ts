import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);

describe('npm prints no warning', () => {
  it('when it starts the command line', async () => {
    expect((await run('npx', ['parley', '--version'])).stderr).toBe('');
  });

  it('when it installs the product, whatever Node it runs on', async () => {
    expect((await run('npm', ['ci', '--dry-run', '--ignore-scripts'])).stderr).toBe('');
  }, 120_000);
});
