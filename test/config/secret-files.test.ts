import { describe, expect, it } from 'vitest';
import type { SettingsError } from '#config/env.ts';
import { FILE_SETTINGS, readSecretFiles } from '#config/secret-files.ts';

const FILES: Record<string, string> = { '/run/secrets/root': 'secret of the operator\n', '/run/empty': '\n' };

function read(file: string): string {
  const text = FILES[file];
  if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
  return text;
}

function problems(environment: Record<string, string>): readonly string[] {
  try {
    readSecretFiles(environment, read);
    return [];
  } catch (error) {
    return (error as SettingsError).problems;
  }
}

describe('secrets in files', () => {
  it('a file gives the value of its setting, without the line break at its end', () => {
    expect(readSecretFiles({ ROOT_API_KEY_FILE: '/run/secrets/root', PORT: '1' }, read)).toEqual({
      ROOT_API_KEY: 'secret of the operator',
      PORT: '1',
    });
  });

  it('an empty file name counts as unset', () => {
    expect(readSecretFiles({ ROOT_API_KEY_FILE: '', ROOT_API_KEY: 'x' }, read)).toEqual({
      ROOT_API_KEY: 'x',
    });
  });

  it('a missing file, an empty one and a value given twice are problems named by the setting', () => {
    expect(
      problems({
        ROOT_API_KEY_FILE: '/run/secrets/missing',
        WORKER_TOKEN_FILE: '/run/empty',
        MONGODB_URL_FILE: '/run/secrets/root',
        MONGODB_URL: 'mongodb://x',
      }),
    ).toEqual([
      'ROOT_API_KEY_FILE: /run/secrets/missing cannot be read (ENOENT)',
      'WORKER_TOKEN_FILE: /run/empty is empty',
      'MONGODB_URL_FILE: must not be set together with MONGODB_URL',
    ]);
  });

  it('every secret of the settings may come from a file; certificates are files already', () => {
    expect(FILE_SETTINGS).toEqual(
      expect.arrayContaining(['MASTER_KEY', 'LIVEKIT_API_SECRET', 'SIP_TRUNK_PASSWORD', 'OPENAI_API_KEY']),
    );
    expect(FILE_SETTINGS).not.toContain('TLS_KEY');
  });
});
