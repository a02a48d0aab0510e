/**
 * Files that survive a power loss, with their names. Each directory sync makes the file system write its
 * journal, which delays every other sync on the disk, those of the database included: files that are named
 * during a sync of their directory share the next one.
 */
import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { orMissing } from './or-missing.ts';

/** Prefix of temporary files; no part of a key begins with it. */
const TEMPORARY = '.writing-';

/** Writes files so that at any moment either the old or the new bytes exist, even after a power loss. */
export class DurableFiles {
  readonly #syncDirectory: (directory: string) => Promise<void>;
  /** Directories made here whose parent has not been synced since. */
  readonly #made = new Set<string>();
  /** Directories to sync in the next round. */
  #waiting = new Map<string, PromiseWithResolvers<void>>();
  #isSyncing = false;

  /** `syncDirectory` makes the names in a directory durable. */
  constructor(syncDirectory = syncOnDisk) {
    this.#syncDirectory = syncDirectory;
  }

  /** Writes a file and the directories it needs. Rejects with the error of the file system. */
  async write(path: string, bytes: Uint8Array): Promise<void> {
    const directory = dirname(path);
    const temporary = join(directory, `${TEMPORARY}${randomBytes(8).toString('hex')}`);
    const file = await this.#create(temporary);
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
    // A new name is durable once its directory is synced; also that of a directory another write has made.
    const above = [...this.#made].filter((made) => directory === made || directory.startsWith(`${made}/`));
    await Promise.all([directory, ...above.map((made) => dirname(made))].map((name) => this.#sync(name)));
  }

  async #create(path: string): Promise<FileHandle> {
    const file = await orMissing(open(path, 'wx', 0o600), null);
    if (file) return file;
    const first = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    if (first !== undefined)
      for (let made = dirname(path); made !== dirname(first); made = dirname(made)) this.#made.add(made);
    return open(path, 'wx', 0o600);
  }

  #sync(directory: string): Promise<void> {
    const waiting = this.#waiting.get(directory) ?? Promise.withResolvers<void>();
    this.#waiting.set(directory, waiting);
    void this.#syncAll();
    return waiting.promise;
  }

  async #syncAll(): Promise<void> {
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    // Requests of the same tick share one round.
    await Promise.resolve();
    while (this.#waiting.size > 0) {
      const round = [...this.#waiting];
      this.#waiting = new Map();
      await Promise.all(
        round.map(([directory, { resolve, reject }]) => this.#syncNames(directory).then(resolve, reject)),
      );
    }
    this.#isSyncing = false;
  }

  async #syncNames(directory: string): Promise<void> {
    const durable = [...this.#made].filter((made) => dirname(made) === directory);
    await this.#syncDirectory(directory);
    for (const made of durable) this.#made.delete(made);
  }
}

async function syncOnDisk(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
