/**
 * Runs one suite against every supported database: the embedded one always, and a MongoDB if `MONGODB_URL` is
 * set.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { openTestDatabase, type TestDatabase } from './open-test-database.ts';

/** Registers the suite for both databases; without `MONGODB_URL` the second one is reported as skipped. */
export function onEveryDatabase(name: string, suite: (database: () => TestDatabase) => void): void {
  const mongodbUrl = process.env['MONGODB_URL'];
  describe(`${name} [embedded]`, () => suite(opened(undefined)));
  if (mongodbUrl !== undefined && mongodbUrl !== '')
    describe(`${name} [MongoDB]`, () => suite(opened(mongodbUrl)));
  else describe.skip(`${name} [MongoDB, needs MONGODB_URL]`, () => suite(opened(undefined)));
}

function opened(mongodbUrl: string | undefined): () => TestDatabase {
  let database: TestDatabase | undefined;
  beforeAll(async () => {
    database = await openTestDatabase(mongodbUrl);
  });
  afterAll(async () => {
    await database?.close();
  });
  return () => {
    if (!database) throw new Error('the database is not open');
    return database;
  };
}
