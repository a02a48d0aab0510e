/**
 * Secrets that a deployment generates, stored in `DATA_DIR/credentials.json` (mode 0600): the operator's key,
 * the workers' token and the deployment key. The environment takes precedence. The deployment key wraps every
 * stored secret and every session's data key. With `MASTER_KEY` it is in the database instead, encrypted with
 * that (control-plane/platform/store/deployment-key.ts).
 */
import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Settings } from './env.ts';

const stored = z.object({
  root_api_key: z.string().min(16),
  worker_token: z.string().min(16),
  /** Absent with `MASTER_KEY`. */
  master_key: z.string().length(64).optional(),
});

/** Secrets shared by the processes of a deployment. */
export interface Credentials {
  readonly rootApiKey: string;
  readonly workerToken: string;
  /** 32 bytes. */
  readonly deploymentKey: Buffer;
  /** File of the generated secrets. */
  readonly file: string;
}

/** Credentials as far as the environment and the file have them. */
export interface FoundCredentials extends Omit<Credentials, 'deploymentKey'> {
  /** Null if the file has none, because the deployment has a master key. */
  readonly deploymentKey: Buffer | null;
  /** The key of a deployment that had `ROOT_API_KEY` and no master key at its first start. */
  readonly derivedKey: Buffer | null;
}

/**
 * Reads the credentials and generates missing ones once. Without `MASTER_KEY`, a first start with
 * `ROOT_API_KEY` derives the deployment key from it, so that replicas on several machines use the same one; a
 * stored key is kept even if `ROOT_API_KEY` changes. Throws if the file exists and is invalid.
 */
export function loadCredentials(settings: Settings): FoundCredentials {
  const file = fileIn(settings);
  const derivedKey = settings.ROOT_API_KEY === undefined ? null : derivedFrom(settings.ROOT_API_KEY);
  let kept = readStored(file);
  if (!kept) {
    const key = settings.MASTER_KEY === undefined ? (derivedKey ?? randomBytes(32)) : null;
    kept = {
      root_api_key: settings.ROOT_API_KEY ?? `pk_${randomBytes(24).toString('hex')}`,
      worker_token: settings.WORKER_TOKEN ?? randomBytes(24).toString('hex'),
      ...(key && { master_key: key.toString('hex') }),
    };
    mkdirSync(settings.DATA_DIR, { recursive: true, mode: 0o700 });
    replaceFile(file, kept);
  }
  return {
    rootApiKey: settings.ROOT_API_KEY ?? kept.root_api_key,
    workerToken: settings.WORKER_TOKEN ?? kept.worker_token,
    deploymentKey: keyOf(kept),
    derivedKey,
    file,
  };
}

/**
 * Removes this key from the file, once it is stored elsewhere. Another key stays: it may be the only copy.
 */
export function forgetDeploymentKey(settings: Settings, deploymentKey: Buffer): void {
  const file = fileIn(settings);
  const kept = readStored(file);
  if (kept && keyOf(kept)?.equals(deploymentKey)) replaceFile(file, { ...kept, master_key: undefined });
}

function fileIn({ DATA_DIR }: Settings): string {
  return join(DATA_DIR, 'credentials.json');
}

function derivedFrom(rootApiKey: string): Buffer {
  return Buffer.from(hkdfSync('sha256', rootApiKey, 'parley', 'master key', 32));
}

function keyOf({ master_key: key }: z.infer<typeof stored>): Buffer | null {
  return key === undefined ? null : Buffer.from(key, 'hex');
}

function replaceFile(file: string, kept: z.infer<typeof stored>): void {
  const partial = `${file}.partial`;
  writeFileSync(partial, textOf(kept), { mode: 0o600, flush: true });
  renameSync(partial, file);
}

/** Contents of a credentials file, for a backup. */
export function credentialsText({ rootApiKey, workerToken, deploymentKey }: Credentials): string {
  return textOf({
    root_api_key: rootApiKey,
    worker_token: workerToken,
    master_key: deploymentKey.toString('hex'),
  });
}

/** Id of a deployment for file names: 12 hex digits of a hash of its key, which it does not reveal. */
export function deploymentOf(deploymentKey: Uint8Array): string {
  return createHash('sha256').update(deploymentKey).digest('hex').slice(0, 12);
}

/**
 * Reads the deployment key from a credentials file; null if it is in the database instead. Throws if the file
 * is missing or invalid.
 */
export function deploymentKeyIn(file: string): Buffer | null {
  const kept = readStored(file);
  if (!kept) throw new Error(`${file} is missing`);
  return keyOf(kept);
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
