/** The models over their own embedded database, for tests. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { buildIndexes } from '#control-plane/platform/store/build-indexes.ts';
import { type Database, openDatabase } from '#control-plane/platform/store/database.ts';
import { defineModels, type Models } from '#control-plane/platform/store/models.ts';
import { startInSharedThread } from './store-threads.ts';

/**
 * A test dates its documents by its own clock, which is far in the past for the machine: a TTL sweep would
 * expire them.
 */
export const EXPIRY_MS = 24 * 60 * 60 * 1_000;

/** The database file of this process's first store, empty and with every index: the others begin with it. */
let prepared: Buffer | null = null;

/** An open store. */
export interface TestStore {
  readonly database: Database;
  readonly models: Models;
  readonly dataDir: string;
  close(): Promise<void>;
}

/**
 * Opens an empty store in its own directory, or in an empty database that already runs, with every index
 * built. Its clock is the only part of a test that uses real time, unless one is given.
 */
export async function openTestStore(mongodbUrl?: string, clock: Clock = systemClock): Promise<TestStore> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-store-'));
  const given = mongodbUrl === undefined ? prepared : null;
  if (given) {
    mkdirSync(join(dataDir, 'database'));
    writeFileSync(join(dataDir, 'database', 'database.sqlite'), given);
  }
  const database = await openDatabase({
    mongodbUrl,
    dataDir,
    clock,
    logger: createLogger({ level: 'silent', name: 'test' }),
    expiryMs: EXPIRY_MS,
    preloadMs: null,
    startThread: startInSharedThread,
    onFatal: (error) => {
      throw error;
    },
  });
  const models = defineModels(database.connection);
  if (!given) await buildIndexes(models);
  if (database.copyTo) prepared ??= await copyOf(database.copyTo, join(dataDir, 'prepared.sqlite'));
  return {
    database,
    models,
    dataDir,
    close: async () => {
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function copyOf(copyTo: NonNullable<Database['copyTo']>, file: string): Promise<Buffer> {
  await copyTo(file);
  const bytes = readFileSync(file);
  rmSync(file);
  return bytes;
}
