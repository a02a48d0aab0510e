/** Blobs as files in a directory. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Blobs, isKey, requireKey, requirePrefix } from './blob-store.ts';
import { DurableFiles } from './durable-files.ts';
import { orMissing } from './or-missing.ts';

/** Opens a directory as a blob store; the first blob creates it. */
export function createDirectoryBlobs(root: string): Blobs {
  const files = new DurableFiles();
  return {
    isBucket: false,
    put: async (key, bytes) => {
      requireKey(key);
      await files.write(join(root, key), bytes);
    },
    putAddress: async () => null,
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
      const keys = await keysUnder(root, prefix);
      // A removed directory takes the remains of interrupted writes with it.
      const paths = prefix.endsWith('/') ? [prefix] : keys;
      for (const path of paths) await rm(join(root, path), { recursive: true, force: true });
      return keys.length;
    },
  };
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
