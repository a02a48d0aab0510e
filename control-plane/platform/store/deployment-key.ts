/**
 * The deployment key, stored in the database encrypted with `MASTER_KEY`: the operator keeps that one, and
 * may replace it without a stored secret or a transcript being encrypted anew. While the settings also name
 * the old one, the key is stored under both, so that replicas with either run beside each other.
 */
import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import type { Connection } from 'mongoose';
import { createSealer, type Sealer } from '#base/sealer.ts';
import { isDuplicateKey } from './duplicate-key.ts';

/** Where the deployment key may come from. */
export interface KeySources {
  /** `MASTER_KEY`, 32 bytes in base64; undefined if unset. */
  readonly masterKey: string | undefined;
  /** `MASTER_KEY_OLD`. */
  readonly oldKeys: readonly string[];
  /** The key in the credentials file. */
  readonly fileKey: Buffer | null;
  /** The key that a deployment with `ROOT_API_KEY` and without a credentials file has. */
  readonly derivedKey: Buffer | null;
  /** Whether a key opens the encrypted data of the database; null if there is none. */
  readonly opensData: (key: Buffer) => Promise<boolean | null>;
  /** Whether the database is empty. */
  readonly isNew: () => Promise<boolean>;
}

interface StoredKey {
  readonly _id: 'deployment';
  /** Incremented with every change. */
  readonly rev: number;
  /** In the order in which the master keys were introduced. */
  readonly wrapped: readonly WrappedKey[];
  /** Sealed by the deployment key: tells whether another key is it. */
  readonly check: string;
}

interface WrappedKey {
  /** Fingerprint of the master key. */
  readonly by: string;
  /** The deployment key in base64, encrypted. */
  readonly sealed: string;
}

/** Collection of the one document with the key. */
export const DEPLOYMENT_KEYS = 'deployment_keys';
const CONTEXT = 'deployment key';
const CHECK = 'deployment key check';
const KEY_BYTES = 32;

/**
 * Returns the 32-byte deployment key. With a master key, stores it encrypted with that. An older master key
 * that the settings do not name no longer opens it. Throws an error that names the setting if no master key
 * is right, or if there is none although the key is stored.
 */
export async function openDeploymentKey(connection: Connection, sources: KeySources): Promise<Buffer> {
  const keys = connection.collection<StoredKey>(DEPLOYMENT_KEYS);
  const stored = await keys.findOne({ _id: 'deployment' });
  const known = [sources.fileKey, sources.derivedKey]
    .filter((key) => key !== null)
    .find((key) => !stored || opensCheck(key, stored.check));
  if (sources.masterKey === undefined) {
    if (known) return known;
    throw new Error('MASTER_KEY: the data of this deployment is encrypted with one: set it again');
  }
  const current = openMaster(sources.masterKey);
  const masters = [current, ...sources.oldKeys.map(openMaster)];
  const deploymentKey = stored ? (unwrap(stored, masters) ?? known) : await firstKey(sources);
  if (!deploymentKey)
    throw new Error(
      'MASTER_KEY: does not open the data of this deployment: set the key that it was started with, here ' +
        'or in MASTER_KEY_OLD',
    );
  const wrapped = wrappedAfter(stored?.wrapped ?? [], deploymentKey, { current, masters });
  if (stored && isSame(stored.wrapped, wrapped)) return deploymentKey;
  const isStored = stored
    ? (await keys.updateOne({ _id: 'deployment', rev: stored.rev }, { $set: { wrapped }, $inc: { rev: 1 } }))
        .matchedCount > 0
    : await keys.insertOne({ _id: 'deployment', rev: 0, wrapped, check: checkOf(deploymentKey) }).then(
        () => true,
        (error: unknown) => {
          if (isDuplicateKey(error)) return false;
          throw error;
        },
      );
  // Another replica was first: its key counts.
  return isStored ? deploymentKey : openDeploymentKey(connection, sources);
}

/** The key of a deployment that gets its first master key. Throws if no known key opens its data. */
async function firstKey({ fileKey, derivedKey, opensData, isNew }: KeySources): Promise<Buffer> {
  const known = [fileKey, derivedKey].filter((key) => key !== null);
  for (const key of known) if (await opensData(key)) return key;
  const fresh = randomBytes(KEY_BYTES);
  if ((await opensData(fresh)) !== null)
    throw new Error(
      'MASTER_KEY: the data of this deployment is encrypted with the key of another ' +
        'DATA_DIR/credentials.json or of an earlier ROOT_API_KEY: start once with that and MASTER_KEY',
    );
  // Secrets of tools may be encrypted although no session is. A new deployment's key must not depend on the
  // operator's.
  return fileKey ?? ((await isNew()) ? null : derivedKey) ?? fresh;
}

interface Master {
  readonly by: string;
  readonly sealer: Sealer;
}

function openMaster(masterKey: string): Master {
  const bytes = Buffer.from(masterKey, 'base64');
  return {
    by: createHash('sha256').update('parley master key').update(bytes).digest('hex').slice(0, 16),
    sealer: createSealer(Buffer.from(hkdfSync('sha256', bytes, 'parley', 'key encryption', KEY_BYTES))),
  };
}

function wrap(deploymentKey: Buffer, { by, sealer }: Master): WrappedKey {
  return { by, sealed: sealer.seal(deploymentKey, CONTEXT).toString('base64') };
}

/**
 * The stored forms after a start with these master keys. Those of newer master keys stay, because this may be
 * a replica that is not restarted with the new settings yet.
 */
function wrappedAfter(
  stored: readonly WrappedKey[],
  deploymentKey: Buffer,
  { current, masters }: { readonly current: Master; readonly masters: readonly Master[] },
): WrappedKey[] {
  const at = stored.findIndex(({ by }) => by === current.by);
  const named = new Set(masters.map(({ by }) => by));
  if (at < 0) return [...stored.filter(({ by }) => named.has(by)), wrap(deploymentKey, current)];
  return stored.filter(({ by }, index) => index >= at || named.has(by));
}

/** Null if none of the master keys has wrapped the key. Throws `SealBroken` if it was altered. */
function unwrap({ wrapped }: StoredKey, masters: readonly Master[]): Buffer | null {
  for (const { by, sealer } of masters) {
    const own = wrapped.find((each) => each.by === by);
    if (own) return sealer.open(Buffer.from(own.sealed, 'base64'), CONTEXT);
  }
  return null;
}

function checkOf(deploymentKey: Buffer): string {
  return createSealer(deploymentKey).seal('', CHECK).toString('base64');
}

/** Whether this is the deployment key whose stored form has this `check`. */
export function opensCheck(key: Buffer, check: string): boolean {
  try {
    createSealer(key).open(Buffer.from(check, 'base64'), CHECK);
    return true;
  } catch {
    return false;
  }
}

function isSame(stored: readonly WrappedKey[], wanted: readonly WrappedKey[]): boolean {
  return stored.length === wanted.length && wanted.every((each) => stored.includes(each));
}
