/**
 * The server alone, with a reader on the same thread: group commit, failing disks, long reads, broken
 * clients.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Binary, deserialize, Long, serialize } from 'bson';
import type { Connection } from 'mongoose';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Store } from '#control-plane/platform/store/embedded/documents.ts';
import { openServedStore } from './served-store.ts';

let path: string;
let store: Store;
let connection: Connection;
let reads: Awaited<ReturnType<typeof openServedStore>>['reads'];
let things: Awaited<ReturnType<typeof openServedStore>>['things'];
let close: () => Promise<void>;
const sockets: Socket[] = [];

beforeEach(async () => {
  ({ path, store, connection, reads, things, close } = await openServedStore());
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await close();
});

/** Sends one command over its own socket, in a form no driver would send. */
async function rawCommand(command: Record<string, unknown>): Promise<Record<string, unknown>> {
  const socket = connect(path);
  sockets.push(socket);
  const body = serialize(command);
  const head = Buffer.alloc(21);
  head.writeInt32LE(head.length + body.length, 0);
  head.writeInt32LE(2013, 12);
  socket.write(Buffer.concat([head, body]));
  const [reply] = (await once(socket, 'data')) as [Buffer];
  return deserialize(reply.subarray(21));
}

it('concurrent writes share a commit and are answered after it', async () => {
  let commits = 0;
  const commit = store.sqlite.commit.bind(store.sqlite);
  await things().insertOne({ _id: 'warm' });
  store.sqlite.commit = () => {
    if (store.sqlite.isWriting) commits += 1;
    commit();
  };
  await Promise.all(Array.from({ length: 60 }, (_, index) => things().insertOne({ _id: index })));
  expect(commits).toBeGreaterThan(0);
  expect(commits).toBeLessThan(60);
  expect(await things().countDocuments({})).toBe(61);
});

it('a failed commit refuses every write of the group and keeps none', async () => {
  await things().insertOne({ _id: 'before' });
  const commit = store.sqlite.commit.bind(store.sqlite);
  store.sqlite.commit = () => {
    if (store.sqlite.isWriting) throw new Error('the disk said no');
  };
  const results = await Promise.allSettled([
    things().insertOne({ _id: 1 }),
    things().updateOne({ _id: 'before' }, { $set: { n: 1 } }),
    connection.collection('new').insertOne({ n: 1 }),
    things().createIndex({ n: 1 }),
  ]);
  expect(results.map((result) => result.status)).toEqual(Array(4).fill('rejected'));
  store.sqlite.commit = commit;
  expect(await things().find({}).toArray()).toEqual([{ _id: 'before' }]);
  expect(await things().listIndexes().toArray()).toHaveLength(1);
  await connection.collection('new').insertOne({ n: 2 });
  expect(await connection.collection('new').countDocuments({})).toBe(1);
});

it('a repeated write is answered without being repeated, unless its commit had failed', async () => {
  const write = {
    update: 'things',
    updates: [{ q: { _id: 1 }, u: { $inc: { n: 1 } }, upsert: true }],
    lsid: { id: new Binary(Buffer.alloc(16, 7), 4) },
    txnNumber: Long.fromNumber(1),
    $db: 'test',
  };
  const commit = store.sqlite.commit.bind(store.sqlite);
  store.sqlite.commit = () => {
    if (store.sqlite.isWriting) throw new Error('the disk said no');
  };
  expect(await rawCommand(write)).toMatchObject({ ok: 0 });
  store.sqlite.commit = commit;
  expect(await rawCommand(write)).toMatchObject({ ok: 1, n: 1 });
  expect(await rawCommand(write)).toMatchObject({ ok: 1, n: 1 });
  expect(await things().findOne({ _id: 1 })).toEqual({ _id: 1, n: 1 });
  expect(await rawCommand({ ...write, txnNumber: Long.fromNumber(2) })).toMatchObject({ nModified: 1 });
  expect(await things().findOne({ _id: 1 })).toEqual({ _id: 1, n: 2 });
});

it('a full disk refuses writes with the reason, still reads, and writes again once there is room', async () => {
  await things().insertOne({ _id: 'kept' });
  const { page_count: pages } = store.sqlite.pragma('page_count') ?? {};
  store.sqlite.pragma(`max_page_count=${Number(pages) + 2}`);
  const big = Array.from({ length: 20 }, (_, index) => ({ _id: index, text: 'x'.repeat(20_000) }));
  const refused = await Promise.allSettled(big.map((each) => things().insertOne(each)));
  const reasons = refused.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  expect(reasons.length).toBeGreaterThan(0);
  for (const reason of reasons)
    expect(reason).toMatchObject({
      code: 14_031,
      codeName: 'OutOfDiskSpace',
      message: expect.stringContaining('the disk is full'),
    });
  expect(await things().findOne({ _id: 'kept' })).toEqual({ _id: 'kept' });
  expect(await things().countDocuments({})).toBe(1 + refused.length - reasons.length);
  store.sqlite.pragma('max_page_count=1000000');
  await things().insertOne({ _id: 'after' });
  expect(await things().countDocuments({ _id: 'after' })).toBe(1);
  expect(store.sqlite.pragma('integrity_check')).toEqual({ integrity_check: 'ok' });
});

it('the reader answers an aggregation sooner than a plain read: it decodes every document', async () => {
  await things().insertMany(Array.from({ length: 100 }, (_, index) => ({ _id: index, n: 1 })));
  const sumBelow = async (id: number) =>
    (
      await things()
        .aggregate([{ $match: { _id: { $lt: id } } }, { $group: { _id: null, n: { $sum: '$n' } } }])
        .toArray()
    )[0]?.['n'];
  reads.handedOver = 0;
  expect([await sumBelow(20), reads.handedOver]).toEqual([20, 0]);
  expect(await things().find({ unindexed: 1 }).toArray()).toEqual([]);
  expect(await things().countDocuments({})).toBe(100);
  expect(reads.handedOver).toBe(0);
  expect([await sumBelow(50), reads.handedOver]).toEqual([50, 1]);
});

it('the writer answers short reads; the reader answers long ones and sees all acknowledged writes', async () => {
  await things().createIndex({ team: 1, n: -1 });
  await things().insertMany(
    Array.from({ length: 1_000 }, (_, index) => ({ _id: index, team: index % 2, n: index })),
  );
  reads.handedOver = 0;
  expect(await things().find({ team: 1 }).sort({ n: -1 }).limit(50).toArray()).toHaveLength(50);
  expect(await things().findOne({ _id: 500 })).toMatchObject({ n: 500 });
  expect(await things().countDocuments({ team: 0 })).toBe(500);
  expect(reads.handedOver).toBe(0);
  expect(await things().findOne({ unindexed: 1 })).toBeNull();
  expect(reads.handedOver).toBe(1);
  expect(await things().find({}).toArray()).toHaveLength(1_000);
  expect(reads.handedOver).toBeGreaterThan(2);
  for (let round = 0; round < 20; round++) {
    await things().updateMany({}, { $inc: { n: 1_000 } } as never);
    const [sum] = await things()
      .aggregate([{ $group: { _id: null, n: { $sum: '$n' } } }])
      .toArray();
    expect(sum?.['n']).toBe(499_500 + (round + 1) * 1_000_000);
  }
});

it('the reader follows new indexes and collections, and reports a dropped collection to cursors', async () => {
  await things().insertMany(
    Array.from({ length: 600 }, (_, index) => ({ _id: index, tags: [index, -index] })),
  );
  expect(
    await things()
      .find({ tags: { $lt: 0 } })
      .toArray(),
  ).toHaveLength(599);
  await things().createIndex({ tags: 1 });
  expect(
    await things()
      .find({ tags: { $lt: 0 } })
      .toArray(),
  ).toHaveLength(599);
  const cursor = things().find({}).batchSize(50);
  await cursor.next();
  await things().drop();
  await expect(cursor.toArray()).rejects.toMatchObject({ code: 175 });
  await things().insertOne({ _id: 'again' });
  expect(await things().find({}).toArray()).toEqual([{ _id: 'again' }]);
});

it('a closed or unknown cursor is an error of its own', async () => {
  expect(await rawCommand({ getMore: Long.fromNumber(99), collection: 'things', $db: 'test' })).toMatchObject(
    { ok: 0, code: 43 },
  );
  expect(
    await rawCommand({ killCursors: 'things', cursors: [Long.fromNumber(99)], $db: 'test' }),
  ).toMatchObject({ ok: 1 });
});

it.each([
  ['nothing but noise', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  [
    'a length that is too large',
    Buffer.from([0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0]),
  ],
  [
    'a section longer than its message',
    Buffer.from([
      30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0,
    ]),
  ],
  ['an unknown operation', Buffer.from([16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])],
])('%s closes its own connection and no other', async (_name, bytes) => {
  const socket = connect(path);
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.write(bytes);
  await once(socket, 'close');
  await things().insertOne({ _id: 1 });
  expect(await things().countDocuments({})).toBe(1);
});

it('a sign-in is no command of a Unix socket, which its permissions protect', async () => {
  expect(await rawCommand({ saslStart: 1, mechanism: 'PLAIN', $db: '$external' })).toMatchObject({
    code: 59,
  });
});

it('a message that arrives byte by byte is parsed', async () => {
  const socket = connect(path);
  sockets.push(socket);
  socket.setNoDelay(true);
  const body = serialize({ ping: 1, $db: 'admin' });
  const head = Buffer.alloc(21);
  head.writeInt32LE(head.length + body.length, 0);
  head.writeInt32LE(2013, 12);
  const reply = once(socket, 'data');
  for (const byte of Buffer.concat([head, body]))
    await new Promise<void>((resolve) => socket.write(Buffer.from([byte]), () => resolve()));
  expect(deserialize(((await reply) as [Buffer])[0].subarray(21))).toEqual({ ok: 1 });
});

it('an update maintains the affected indexes, including partial and nested ones', async () => {
  await things().createIndex({ a: 1 }, { partialFilterExpression: { 'state.name': 'open' } });
  await things().createIndex({ 'deep.b': 1 });
  await things().createIndex({ c: 1 }, { unique: true });
  await things().insertOne({ _id: 1, a: 1, c: 1, deep: { b: 1 }, state: { name: 'open' } });
  await things().insertOne({ _id: 2, a: 2, c: 2, deep: { b: 2 }, state: { name: 'shut' } });
  const found = async (filter: object) => (await things().find(filter).toArray()).map(({ _id }) => _id);

  await things().updateOne({ _id: 1 }, { $set: { 'state.name': 'shut' } });
  await things().updateOne({ _id: 2 }, { $set: { state: { name: 'open' } } });
  expect(await found({ a: { $gt: 0 }, 'state.name': 'open' })).toEqual([2]);
  await things().updateOne({ _id: 2 }, { $set: { 'deep.b': 7 } });
  expect(await found({ 'deep.b': 7 })).toEqual([2]);
  expect(await found({ 'deep.b': 2 })).toEqual([]);
  await things().updateOne({ _id: 1 }, { $rename: { c: 'd' } });
  expect(await found({ c: 1 })).toEqual([]);
  await expect(things().updateOne({ _id: 1 }, { $set: { c: 2 } })).rejects.toMatchObject({ code: 11_000 });
  await expect(things().updateOne({ _id: 1 }, { $set: { '_id.part': 2 } })).rejects.toThrow();
});

it('a path into the _id is rejected, and an update can return the document before it', async () => {
  await things().insertOne({ _id: { part: 1 } as never, n: 1 });
  await expect(things().updateOne({ n: 1 }, { $set: { '_id.part': 2 } })).rejects.toMatchObject({ code: 66 });
  expect(await things().findOneAndUpdate({ n: 1 }, { $set: { n: 2 } }, { returnDocument: 'before' })).toEqual(
    { _id: { part: 1 }, n: 1 },
  );
  expect(await things().findOne({})).toEqual({ _id: { part: 1 }, n: 2 });
});
