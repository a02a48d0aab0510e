/**
 * The lock on DATA_DIR: only one program at a time may use a data directory. It is a write transaction on a
 * small SQLite file, so the kernel releases it however the process ends, kill -9 included.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

/** A held lock. */
export interface DataDirLock {
  /** Releases the lock; so does the end of the process. */
  release(): void;
}

/**
 * Locks a data directory for the life of this process; creates it if missing. Throws a one-line error message
 * if another program holds it.
 */
export function lockDataDir(dataDir: string): DataDirLock {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = tryLock(join(dataDir, LOCK));
  if (!lock) throw new Error(`DATA_DIR ${dataDir} is in use by another running Parley`);
  return lock;
}

/**
 * Locks a directory that another program has locked before; null if one holds it, this one included. Throws
 * if its lock is missing: a new one could be held while another program still holds the old one.
 */
export function tryExistingLock(directory: string): DataDirLock | null {
  const file = pathToFileURL(join(directory, LOCK));
  // The default, `rwc`, creates it.
  file.searchParams.set('mode', 'rw');
  return tryLock(file);
}

const LOCK = 'lock.sqlite';
const SQLITE_BUSY = 5;

/**
 * Locks a file, which is created if missing unless its URL says otherwise; null if a program holds it, this
 * one included.
 */
export function tryLock(path: string | URL): DataDirLock | null {
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    file.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    file.close();
    if ((error as { readonly errcode?: number }).errcode === SQLITE_BUSY) return null;
    throw error;
  }
  HELD.add(file);
  return {
    release: () => {
      if (HELD.delete(file)) file.close();
    },
  };
}

/** A garbage-collected database handle would release its lock. */
const HELD = new Set<DatabaseSync>();
