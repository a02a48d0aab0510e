import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { forgetDeploymentKey, loadCredentials } from '#config/credentials.ts';
import { readSettings } from '#config/env.ts';

describe('credentials', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'parley-credentials-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));
  const load = (environment: Record<string, string> = {}) =>
    loadCredentials(readSettings({ DATA_DIR: directory, ...environment }));

  it('are generated once and stored for their owner only', () => {
    const first = load();
    const again = load();
    expect(again.rootApiKey).toBe(first.rootApiKey);
    expect(again.deploymentKey).toEqual(first.deploymentKey);
    expect(statSync(first.file).mode & 0o777).toBe(0o600);
  });

  it('environment settings win, and the deployment key stays when the operator’s key changes', () => {
    const first = load({ ROOT_API_KEY: 'a-key-of-the-operator' });
    const later = load({ ROOT_API_KEY: 'another-key-of-the-operator' });
    expect(later.rootApiKey).toBe('another-key-of-the-operator');
    expect(later.deploymentKey).toEqual(first.deploymentKey);
  });

  it('two machines started with the same operator’s key have the same deployment key', () => {
    const here = load({ ROOT_API_KEY: 'a-key-of-the-operator' });
    rmSync(here.file);
    expect(load({ ROOT_API_KEY: 'a-key-of-the-operator' }).deploymentKey).toEqual(here.deploymentKey);
  });

  it('with a master key, the file never has the deployment key, and loses the one it has', () => {
    const before = load();
    expect(before.deploymentKey).toHaveLength(32);
    const settings = readSettings({ DATA_DIR: directory });
    forgetDeploymentKey(settings, Buffer.alloc(32));
    expect(load()).toEqual(before);
    forgetDeploymentKey(settings, before.deploymentKey ?? Buffer.alloc(0));
    expect(load()).toEqual({ ...before, deploymentKey: null });
    rmSync(before.file);
    expect(load({ MASTER_KEY: Buffer.alloc(32, 1).toString('base64') }).deploymentKey).toBeNull();
    expect(readFileSync(before.file, 'utf8')).not.toContain('master_key');
  });
});
