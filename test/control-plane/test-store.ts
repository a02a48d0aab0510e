/** The product's models over an embedded database of their own, for tests. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { type Database, openDatabase } from '#control-plane/platform/store/database.ts';
import { buildIndexes, defineModels, type Models } from '#control-plane/platform/store/models.ts';

/** An open store. */
export interface TestStore {
  readonly database: Database;
  readonly models: Models;
  readonly dataDir: string;
  close(): Promise<void>;
}

/** Opens an empty store in a directory of its own, with every index built. */
export async function openTestStore(): Promise<TestStore> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-store-'));
  const database = await openDatabase({
    mongodbUrl: undefined,
    dataDir,
    // The database is the only part of a test that waits in real time.
    clock: systemClock,
    logger: createLogger({ level: 'silent', name: 'test' }),
    // What a test writes is dated by its own clock, which stands long past for the machine's: a sweep in
    // between would take it for expired.
    expiryMs: 24 * 60 * 60 * 1_000,
    onFatal: (error) => {
      throw error;
    },
  });
  const models = defineModels(database.connection);
  await buildIndexes(models);
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
