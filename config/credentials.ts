/**
 * Secrets that a deployment generates, stored in `DATA_DIR/credentials.json` (mode 0600): the operator's key,
 * the workers' token and the master key. The environment takes precedence. The master key wraps every stored
 * secret and every session's data key.
 */
import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Settings } from './env.ts';

const stored = z.object({
  root_api_key: z.string().min(16),
  worker_token: z.string().min(16),
  master_key: z.string().length(64),
});

/** Secrets shared by the processes of a deployment. */
export interface Credentials {
  readonly rootApiKey: string;
  readonly workerToken: string;
  /** 32 bytes. */
  readonly masterKey: Buffer;
  /** File of the generated secrets. */
  readonly file: string;
}

/**
 * Reads the credentials and generates missing ones once. A first start with `ROOT_API_KEY` derives the master
 * key from it, so that replicas on several machines use the same one; a stored master key is kept even if
 * `ROOT_API_KEY` changes. Throws if the file exists and is invalid.
 */
export function loadCredentials(settings: Settings): Credentials {
  const file = join(settings.DATA_DIR, 'credentials.json');
  let kept = readStored(file);
  if (!kept) {
    kept = {
      root_api_key: settings.ROOT_API_KEY ?? `pk_${randomBytes(24).toString('hex')}`,
      worker_token: settings.WORKER_TOKEN ?? randomBytes(24).toString('hex'),
      master_key: (settings.ROOT_API_KEY === undefined
        ? randomBytes(32)
        : Buffer.from(hkdfSync('sha256', settings.ROOT_API_KEY, 'parley', 'master key', 32))
      ).toString('hex'),
    };
    mkdirSync(settings.DATA_DIR, { recursive: true, mode: 0o700 });
    const partial = `${file}.partial`;
    writeFileSync(partial, textOf(kept), { mode: 0o600, flush: true });
    renameSync(partial, file);
  }
  return {
    rootApiKey: settings.ROOT_API_KEY ?? kept.root_api_key,
    workerToken: settings.WORKER_TOKEN ?? kept.worker_token,
    masterKey: Buffer.from(kept.master_key, 'hex'),
    file,
  };
}

/** Contents of a credentials file, for a backup. */
export function credentialsText({ rootApiKey, workerToken, masterKey }: Credentials): string {
  return textOf({
    root_api_key: rootApiKey,
    worker_token: workerToken,
    master_key: masterKey.toString('hex'),
  });
}

/** Id of a deployment for file names: 12 hex digits of a hash of its master key, which it does not reveal. */
export function deploymentOf(masterKey: Uint8Array): string {
  return createHash('sha256').update(masterKey).digest('hex').slice(0, 12);
}

/** Reads the master key from a credentials file. Throws if the file is missing or invalid. */
export function masterKeyIn(file: string): Buffer {
  const kept = readStored(file);
  if (!kept) throw new Error(`${file} is missing`);
  return Buffer.from(kept.master_key, 'hex');
}

function textOf(kept: z.infer<typeof stored>): string {
  return `${JSON.stringify(kept, null, 2)}\n`;
}

function readStored(file: string): z.infer<typeof stored> | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    return stored.parse(JSON.parse(text));
  } catch {
    // Omits the text and the parser's message, which could contain a secret.
    throw new Error(
      `${file} is damaged: restore a copy of it, or move it away to have new secrets generated (data ` +
        'encrypted with the old ones stays unreadable)',
    );
  }
}
