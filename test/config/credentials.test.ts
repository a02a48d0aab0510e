import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadCredentials } from '#config/credentials.ts';
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
    expect(again.masterKey.equals(first.masterKey)).toBe(true);
    expect(statSync(first.file).mode & 0o777).toBe(0o600);
  });

  it('environment settings win, and the master key stays when the operator’s key changes', () => {
    const first = load({ ROOT_API_KEY: 'a-key-of-the-operator' });
    const later = load({ ROOT_API_KEY: 'another-key-of-the-operator' });
    expect(later.rootApiKey).toBe('another-key-of-the-operator');
    expect(later.masterKey.equals(first.masterKey)).toBe(true);
  });

  it('two machines started with the same operator’s key have the same master key', () => {
    const here = load({ ROOT_API_KEY: 'a-key-of-the-operator' });
    rmSync(here.file);
    expect(load({ ROOT_API_KEY: 'a-key-of-the-operator' }).masterKey.equals(here.masterKey)).toBe(true);
  });
});
