/** The write-ahead log of the server: when it is copied into the database file, emptied, and begun anew. */
import { copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Store } from '#control-plane/platform/store/embedded/documents.ts';
import { StoreServer } from '#control-plane/platform/store/embedded/server.ts';
import { Sqlite } from '#control-plane/platform/store/embedded/sqlite.ts';
import { openStore } from '#control-plane/platform/store/embedded/store.ts';
import { ManualClock } from '../../../../fakes/manual-clock.ts';
import { openServedStore } from './served-store.ts';

let served: Awaited<ReturnType<typeof openServedStore>>;
let directory: string;
let file: string;
let store: Store;
let server: StoreServer;
let clock: ManualClock;
let reads: (typeof served)['reads'];
let things: (typeof served)['things'];

beforeEach(async () => {
  served = await openServedStore();
  ({ directory, file, store, server, clock, reads, things } = served);
});
afterEach(() => served.close());

it('security 18: a log left by a crash is emptied after the next start, with its erased data', async () => {
  await things().insertOne({ _id: 1, text: 'erased' });
  const copied = join(directory, 'crashed.sqlite');
  for (const end of ['', '-wal']) copyFileSync(`${file}${end}`, `${copied}${end}`);
  const crashed = openStore(copied);
  const clock = new ManualClock();
  const next = new StoreServer({
    store: crashed,
    reader: { run: () => expect.unreachable(), checkpoint: async () => 0 },
    clock,
    expiryMs: 60_000,
    endpoint: { type: 'socket', path: join(directory, 'next.sock') },
  });
  await next.listen();
  expect(statSync(`${copied}-wal`).size).toBeGreaterThan(0);
  await clock.advance(1_000);
  expect(statSync(`${copied}-wal`).size).toBe(0);
  await next.close();
  crashed.sqlite.close();
});

it('erased data leaves the log only after a checkpoint has copied it, so that commands wait briefly', async () => {
  const copied = Promise.withResolvers<number>();
  reads.checkpoint = () => copied.promise;
  const logSize = () => statSync(`${file}-wal`).size;
  await things().insertOne({ _id: 1 });
  server.scrub();
  await clock.advance(1_000);
  expect(logSize()).toBeGreaterThan(0);
  copied.resolve(0);
  await copied.promise;
  await new Promise((resolve) => setImmediate(resolve));
  expect(logSize()).toBe(0);
});

it('a store to which nothing is written is not woken for checkpoints', async () => {
  // The first is the scrub of the start.
  await clock.advance(1_000);
  const idle = clock.pendingTimers;
  let count = 0;
  reads.checkpoint = async () => {
    count += 1;
    return 0;
  };
  await clock.advance(50_000);
  expect(count).toBe(0);
  await things().insertOne({ _id: 1 });
  await things().insertOne({ _id: 2 });
  expect(clock.pendingTimers).toBe(idle + 1);
  await clock.advance(1_000);
  expect(count).toBe(1);
  expect(clock.pendingTimers).toBe(idle);
});

it('commands are answered while a checkpoint runs, and no second one begins before its end', async () => {
  await things().insertOne({ _id: 1 });
  // The first is the scrub of the start.
  await clock.advance(1_000);
  const running: PromiseWithResolvers<number>[] = [];
  reads.checkpoint = () => {
    const one = Promise.withResolvers<number>();
    running.push(one);
    return one.promise;
  };
  for (const id of [2, 3]) {
    await things().insertOne({ _id: id });
    await clock.advance(1_000);
  }
  expect([running.length, await things().countDocuments({})]).toEqual([1, 3]);
  running[0]?.resolve(0);
  await things().insertOne({ _id: 4 });
  await clock.advance(1_000);
  expect(running.length).toBe(2);
});

it('a long log begins anew with the next write, although commands write during each checkpoint', async () => {
  // The first is the scrub of the start.
  await clock.advance(1_000);
  const log = new Sqlite(file, 'write');
  const copied = Promise.withResolvers<void>();
  let checkpoints = 0;
  reads.checkpoint = async () => {
    const pages = log.checkpoint();
    await things().insertOne({ _id: `during checkpoint ${checkpoints}` });
    checkpoints += 1;
    if (checkpoints === 2) copied.resolve();
    return pages;
  };
  const text = 'x'.repeat(1_000_000);
  for (let _id = 1; _id < 18; _id++) await things().insertOne({ _id, text });
  const logBytes = () => statSync(`${file}-wal`).size;
  const longBytes = logBytes();
  expect(longBytes).toBeGreaterThan(16 * 1_048_576);
  await clock.advance(1_000);
  await copied.promise;
  await new Promise((resolve) => setImmediate(resolve));
  for (let _id = 18; _id < 24; _id++) await things().insertOne({ _id, text });
  expect(logBytes() - longBytes).toBeLessThan(100_000);
  log.close();
});

it('a checkpoint on another connection copies what is committed, also while a group is open', async () => {
  await things().insertOne({ _id: 'committed' });
  const log = new Sqlite(file, 'write');
  store.sqlite.begin();
  log.checkpoint();
  store.sqlite.rollback();
  log.close();
  const copied = join(directory, 'copied.sqlite');
  copyFileSync(file, copied);
  const copy = openStore(copied);
  expect(copy.sqlite.get('SELECT count(*) AS rows FROM d1')).toEqual({ rows: 1 });
  copy.sqlite.close();
});
