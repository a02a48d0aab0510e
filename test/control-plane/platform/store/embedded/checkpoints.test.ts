/** The write-ahead log of the server: when it is copied into the database file, emptied, and begun anew. */
import { copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
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

/** Writes so many documents of a megabyte. */
async function writeMegabytes(count: number): Promise<void> {
  const first = await things().countDocuments({});
  for (let added = 0; added < count; added++)
    await things().insertOne({ _id: `megabyte ${first + added}`, text: 'x'.repeat(1_000_000) });
}

const logBytes = () => statSync(`${file}-wal`).size;

/**
 * Lets checkpoints run on another connection, with a write during each. Returns what lets a second pass and
 * waits for the two of a long log.
 */
function checkpointTwice(log: Sqlite, onCopied: () => void = () => undefined) {
  let pair = Promise.withResolvers<void>();
  let checkpoints = 0;
  reads.checkpoint = async () => {
    const pages = log.checkpoint();
    checkpoints += 1;
    await things().insertOne({ _id: `during checkpoint ${checkpoints}` });
    onCopied();
    if (checkpoints % 2 === 0) pair.resolve();
    return pages;
  };
  return async () => {
    pair = Promise.withResolvers();
    await clock.advance(1_000);
    await pair.promise;
    await new Promise((resolve) => setImmediate(resolve));
  };
}

it('a long log begins anew with the next write, although commands write during each checkpoint', async () => {
  // The first is the scrub of the start.
  await clock.advance(1_000);
  const log = new Sqlite(file, 'write');
  const copyLog = checkpointTwice(log);
  await writeMegabytes(17);
  const longBytes = logBytes();
  expect(longBytes).toBeGreaterThan(16 * 1_048_576);
  await copyLog();
  await writeMegabytes(6);
  expect(logBytes() - longBytes).toBeLessThan(100_000);
  log.close();
});

it('a kill at any moment loses nothing of a log that begins anew', async () => {
  await clock.advance(1_000);
  const log = new Sqlite(file, 'write');
  const killed: { readonly path: string; readonly rows: unknown }[] = [];
  // The files as a kill leaves them: the operating system has all that was written.
  const kill = () => {
    const path = join(directory, `killed-${killed.length}.sqlite`);
    for (const end of ['', '-wal']) copyFileSync(`${file}${end}`, `${path}${end}`);
    killed.push({ path, rows: store.sqlite.get('SELECT count(*) AS rows FROM d1') });
  };
  const copyLog = checkpointTwice(log, kill);
  await writeMegabytes(17);
  kill();
  await copyLog();
  kill();
  for (let written = 0; written < 3; written++) {
    await writeMegabytes(1);
    kill();
  }
  log.close();
  expect(killed.length).toBe(7);
  for (const { path, rows } of killed) {
    const next = openStore(path);
    expect(next.sqlite.pragma('integrity_check')).toEqual({ integrity_check: 'ok' });
    expect(next.sqlite.get('SELECT count(*) AS rows FROM d1')).toEqual(rows);
    next.sqlite.close();
  }
});

it('a read that goes on keeps the log, and commands do not wait for it; afterwards it begins anew', async () => {
  await clock.advance(1_000);
  const log = new Sqlite(file, 'write');
  const copyLog = checkpointTwice(log);
  await writeMegabytes(2);
  const reading = new DatabaseSync(file, { readOnly: true });
  const read = () => reading.prepare('SELECT count(*) AS rows FROM d1').get();
  reading.exec('BEGIN');
  const before = read();
  await writeMegabytes(17);
  const longBytes = logBytes();
  await copyLog();
  await writeMegabytes(2);
  expect(logBytes() - longBytes).toBeGreaterThan(2_000_000);
  expect(read()).toEqual(before);
  reading.exec('COMMIT');
  await copyLog();
  const keptBytes = logBytes();
  await writeMegabytes(2);
  expect(logBytes() - keptBytes).toBeLessThan(100_000);
  reading.close();
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
