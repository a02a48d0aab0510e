/** A store's server with a reader on the same thread, under a manual clock, and a driver connected to it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { systemClock } from '#base/clock.ts';
import { Reader } from '#control-plane/platform/store/embedded/reader.ts';
import { StoreServer } from '#control-plane/platform/store/embedded/server.ts';
import { openReadOnlyStore, openStore } from '#control-plane/platform/store/embedded/store.ts';
import { ManualClock } from '../../../../fakes/manual-clock.ts';

/** Its documents in tests. */
export interface Doc {
  _id: number | string;
  [field: string]: unknown;
}

/** Opens a new store and serves it. */
export async function openServedStore() {
  const directory = mkdtempSync(join(tmpdir(), 'parley-server-'));
  const path = join(directory, 's.sock');
  const file = join(directory, 'd.sqlite');
  const store = openStore(file);
  const readOnly = openReadOnlyStore(file);
  const reader = new Reader(readOnly, systemClock);
  const reads = {
    /** Commands that the writer has handed over. */
    handedOver: 0,
    /** What a checkpoint does, and the length of the log then; nothing unless a test changes it. */
    checkpoint: async (): Promise<number> => 0,
  };
  const link = {
    run: async (message: Buffer) => {
      reads.handedOver += 1;
      return reader.answer(message);
    },
    checkpoint: () => reads.checkpoint(),
  };
  // With a manual clock, the log is emptied only when a test lets time pass.
  const clock = new ManualClock();
  const server = new StoreServer({
    store,
    reader: link,
    clock,
    expiryMs: 60_000,
    endpoint: { type: 'socket', path },
  });
  const connection = await mongoose.createConnection(await server.listen(), { dbName: 'test' }).asPromise();
  return {
    directory,
    path,
    file,
    store,
    server,
    connection,
    clock,
    reads,
    things: () => connection.collection<Doc>('things'),
    async close() {
      await connection.close();
      await server.close();
      readOnly.sqlite.close();
      store.sqlite.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
