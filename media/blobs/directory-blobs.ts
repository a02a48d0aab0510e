/** Blobs as files in a directory: written to a temporary file, synced, then renamed. */
import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Blobs, isKey, requireKey, requirePrefix } from './blob-store.ts';

/** Prefix of temporary files; no part of a key begins with it. */
const TEMPORARY = '.writing-';

/** Opens a directory as a blob store; the first blob creates it. */
export function createDirectoryBlobs(root: string): Blobs {
  return {
    put: async (key, bytes) => {
      requireKey(key);
      await writeDurably(join(root, key), bytes);
    },
    get: async (key) => {
      requireKey(key);
      return await orMissing(readFile(join(root, key)), null);
    },
    list: async (prefix) => {
      requirePrefix(prefix);
      return await keysUnder(root, prefix);
    },
    delete: async (key) => {
      requireKey(key);
      await rm(join(root, key), { force: true });
    },
    deletePrefix: async (prefix) => {
      if (prefix === '') throw new Error('deletePrefix needs a prefix');
      requirePrefix(prefix);
      // A removed directory takes the remains of interrupted writes with it.
      if (prefix.endsWith('/')) await rm(join(root, prefix), { recursive: true, force: true });
      else
        for (const key of await keysUnder(root, prefix))
          await rm(join(root, key), { recursive: true, force: true });
    },
  };
}

/** At any moment either the old or the new bytes exist, even after a power loss. */
async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const directory = dirname(path);
  const temporary = join(directory, `${TEMPORARY}${randomBytes(8).toString('hex')}`);
  const { file, firstMade } = await create(temporary);
  try {
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncDirectories(directory, firstMade === undefined ? directory : dirname(firstMade));
}

/**
 * Creates a temporary file, and returns the topmost directory that had to be created for it: of a session's
 * blobs only the first needs one.
 */
async function create(
  path: string,
): Promise<{ readonly file: FileHandle; readonly firstMade: string | undefined }> {
  const file = await orMissing(open(path, 'wx', 0o600), null);
  if (file) return { file, firstMade: undefined };
  const firstMade = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  return { file: await open(path, 'wx', 0o600), firstMade };
}

/** A new name is durable once its directory is synced; a new directory once its parent is. */
async function syncDirectories(from: string, to: string): Promise<void> {
  for (let directory = from; ; directory = dirname(directory)) {
    const handle = await open(directory, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (directory === to || directory === dirname(directory)) return;
  }
}

async function keysUnder(root: string, prefix: string): Promise<string[]> {
  const start = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  const entries = await orMissing(readdir(join(root, start), { recursive: true, withFileTypes: true }), []);
  const base = join(root, start);
  return entries
    .filter((entry) => entry.isFile())
    .map(
      (entry) =>
        start + join(entry.parentPath, entry.name).slice(base.endsWith('/') ? base.length : base.length + 1),
    )
    .filter((key) => key.startsWith(prefix) && isKey(key))
    .sort();
}

async function orMissing<T, U>(work: Promise<T>, fallback: U): Promise<T | U> {
  try {
    return await work;
  } catch (error) {
    if (
      error instanceof Error &&
      'code' in error &&
      ['ENOENT', 'ENOTDIR', 'EISDIR'].includes(String(error.code))
    )
      return fallback;
    throw error;
  }
}
