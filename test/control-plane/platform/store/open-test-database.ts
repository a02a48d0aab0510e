/**
 * Opens a database for one test file: the embedded one in its own directory, or a fresh database on the
 * MongoDB of `MONGODB_URL`.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { type Database, openDatabase } from '#control-plane/platform/store/database.ts';

/** A database with helpers for tests. */
export interface TestDatabase extends Database {
  readonly dataDir: string;
}

/** Opens a database; `mongodbUrl` undefined means the embedded one. */
export async function openTestDatabase(mongodbUrl?: string): Promise<TestDatabase> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-store-'));
  const database = await openDatabase({
    mongodbUrl:
      mongodbUrl === undefined
        ? undefined
        : withDatabase(mongodbUrl, `parley_test_${randomBytes(4).toString('hex')}`),
    dataDir,
    clock: systemClock,
    logger: createLogger({ level: 'silent', name: 'test' }),
    onFatal: (error) => {
      throw error;
    },
  });
  return {
    ...database,
    dataDir,
    close: async () => {
      if (mongodbUrl !== undefined) await database.connection.dropDatabase();
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/**
 * Replaces the database in a MongoDB URL and keeps its authentication database. A MongoDB URL may name
 * several hosts, which `URL` does not support.
 */
export function withDatabase(url: string, name: string): string {
  const {
    hosts = '',
    database = '',
    options = '',
  } = /^(?<hosts>[a-z+]+:\/\/[^/?]+)\/?(?<database>[^?]*)(?<options>\?.*)?$/.exec(url)?.groups ?? {};
  const signsIn = hosts.includes('@') && !/[?&]authSource=/i.test(options);
  const authSource = signsIn ? `${options === '' ? '?' : '&'}authSource=${database || 'admin'}` : '';
  return `${hosts}/${name}${options}${authSource}`;
}
