import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { describe, expect, it } from 'vitest';
import {
  type EmbeddedDatabase,
  startEmbeddedDatabase,
} from '#control-plane/platform/store/embedded/embedded-database.ts';
import { sharedThreads } from './store-threads.ts';

/** Works on a database in a directory that is deleted with its end. */
async function withDatabase(
  startThread: ReturnType<typeof sharedThreads>,
  work: (database: EmbeddedDatabase) => Promise<unknown>,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'parley-threads-'));
  const died = Promise.withResolvers<never>();
  const database = await startEmbeddedDatabase({ directory, startThread, onFatal: died.reject });
  try {
    await Promise.race([work(database), died.promise]);
  } finally {
    await database.close();
    rmSync(directory, { recursive: true });
  }
}

describe('databases that share a pair of threads', () => {
  it('lose nothing when one is closed and deleted before the reading thread has started', async () => {
    const startThread = sharedThreads();
    await withDatabase(startThread, async () => undefined);
    await withDatabase(startThread, async ({ url }) => {
      const connection = await mongoose.createConnection(url, { dbName: 'parley' }).asPromise();
      // The reading thread answers commands about cursors.
      const answer = connection.db?.command({ killCursors: 'calls', cursors: [] });
      await expect(answer).resolves.toMatchObject({ ok: 1 });
      await connection.close();
    });
  });
});
