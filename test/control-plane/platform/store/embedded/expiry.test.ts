import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { expect, it, onTestFinished } from 'vitest';
import { StoreServer } from '#control-plane/platform/store/embedded/server.ts';
import { openStore } from '#control-plane/platform/store/embedded/store.ts';
import { ManualClock } from '../../../../fakes/manual-clock.ts';

const SWEEP_MS = 5_000;

async function serve(clock: ManualClock): Promise<mongoose.Connection> {
  const directory = mkdtempSync(join(tmpdir(), 'parley-expiry-'));
  const store = openStore(join(directory, 'd.sqlite'));
  const server = new StoreServer({
    store,
    reader: { run: () => expect.unreachable(), checkpoint: async () => 0 },
    clock,
    expiryMs: SWEEP_MS,
    endpoint: { type: 'socket', path: join(directory, 's.sock') },
  });
  const connection = await mongoose.createConnection(await server.listen(), { dbName: 'test' }).asPromise();
  onTestFinished(async () => {
    await connection.close();
    await server.close();
    store.sqlite.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return connection;
}

it('what expires is removed by the sweep after a write, and by every twelfth without a write', async () => {
  const clock = new ManualClock();
  const connection = await serve(clock);
  const kept = connection.collection('kept');
  await kept.createIndex({ until: 1 }, { expireAfterSeconds: 0 });
  const until = (ms: number) => new Date(clock.wallTime() + ms);
  await kept.insertMany([{ until: until(1) }, { until: until(2.5 * SWEEP_MS) }]);
  await clock.advance(SWEEP_MS);
  expect(await kept.countDocuments()).toBe(1);
  // The removal was a write, so there is another sweep.
  await clock.advance(12 * SWEEP_MS);
  expect(await kept.countDocuments()).toBe(1);
  await clock.advance(SWEEP_MS);
  expect(await kept.countDocuments()).toBe(0);
});
