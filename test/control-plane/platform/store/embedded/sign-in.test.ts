/** The server on a port of the loopback interface, where every program of the machine reaches it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '#control-plane/platform/store/embedded/documents.ts';
import { StoreServer } from '#control-plane/platform/store/embedded/server.ts';
import { signInUrl } from '#control-plane/platform/store/embedded/sign-in.ts';
import { openStore } from '#control-plane/platform/store/embedded/store.ts';
import { ManualClock } from '../../../../fakes/manual-clock.ts';

const PASSWORD = 'b1946ac92492d2347c6235b4d2611184';

let directory: string;
let store: Store;
let server: StoreServer;
let port: number | null;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'parley-sign-in-'));
  store = openStore(join(directory, 'd.sqlite'));
  server = new StoreServer({
    store,
    reader: { run: () => expect.unreachable() },
    clock: new ManualClock(),
    expiryMs: 60_000,
    password: PASSWORD,
  });
  port = await server.listen(null);
});
afterEach(async () => {
  await server.close();
  store.sqlite.close();
  rmSync(directory, { recursive: true, force: true });
});

async function write(url: string): Promise<unknown> {
  const connection = mongoose.createConnection(url, { dbName: 'test' });
  try {
    await connection.asPromise();
    return await connection.collection<{ _id: number }>('things').insertOne({ _id: 1 });
  } finally {
    await connection.close();
  }
}

describe('the embedded database on a port', () => {
  it('serves a client that signs in', async () => {
    expect(await write(signInUrl(port, PASSWORD))).toMatchObject({ acknowledged: true });
  });

  it.each([
    ['another', 'c2957bd03503e3458d7346c5e3722295'],
    ['a shorter', 'b1946ac9'],
  ])('refuses a client with %s password', async (_which, password) => {
    await expect(write(signInUrl(port, password))).rejects.toMatchObject({ code: 18 });
  });

  it('refuses the commands of a client that does not sign in', async () => {
    await expect(write(`mongodb://127.0.0.1:${port}/?directConnection=true`)).rejects.toMatchObject({
      code: 13,
    });
  });
});
