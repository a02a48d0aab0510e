/** The embedded database refuses unsupported features by name; it never ignores them or answers wrongly. */
import mongoose from 'mongoose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../open-test-database.ts';

interface Doc {
  _id: number;
  [field: string]: unknown;
}

const { Decimal128 } = mongoose.mongo;
let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
  await things().insertOne({ _id: 1, n: 1, price: Decimal128.fromString('1.10'), at: [1, 2] });
});
afterAll(() => database.close());

function things() {
  return database.connection.collection<Doc>('things');
}

const REFUSED: readonly [string, () => Promise<unknown>][] = [
  [
    '$text',
    () =>
      things()
        .find({ $text: { $search: 'x' } })
        .toArray(),
  ],
  ['$where', () => things().find({ $where: 'true' }).toArray()],
  [
    '$where inside $and',
    () =>
      things()
        .find({ $and: [{ $where: 'true' }] })
        .toArray(),
  ],
  [
    '$where on a collection that is not there',
    () => database.connection.collection('none').find({ $where: 'true' }).toArray(),
  ],
  [
    '$near',
    () =>
      things()
        .find({ at: { $near: [0, 0] } } as never)
        .toArray(),
  ],
  [
    '$geoWithin',
    () =>
      things()
        .find({ at: { $geoWithin: { $center: [[0, 0], 1] } } })
        .toArray(),
  ],
  ['$jsonSchema', () => things().find({ $jsonSchema: {} }).toArray()],
  [
    '$bitsAllSet',
    () =>
      things()
        .find({ n: { $bitsAllSet: 1 } })
        .toArray(),
  ],
  [
    'collation in find',
    () =>
      things()
        .find({}, { collation: { locale: 'de' } })
        .toArray(),
  ],
  [
    'collation in an update',
    () => things().updateOne({ n: 1 }, { $set: { n: 1 } }, { collation: { locale: 'de' } }),
  ],
  ['collation of an index', () => things().createIndex({ n: 1 }, { collation: { locale: 'de' } })],
  ['a text index', () => things().createIndex({ n: 'text' })],
  ['a 2dsphere index', () => things().createIndex({ n: '2dsphere' })],
  ['a wildcard index', () => things().createIndex({ '$**': 1 })],
  ['a hidden index', () => things().createIndex({ n: 1 }, { hidden: true })],
  [
    'Decimal128 arithmetic',
    () => things().updateOne({ _id: 1 }, { $inc: { price: Decimal128.fromString('1') } as never }),
  ],
  ['sorting by Decimal128', () => things().find({}).sort({ price: 1 }).toArray()],
  ['indexing Decimal128', () => things().createIndex({ price: 1 })],
  [
    '$out',
    () =>
      things()
        .aggregate([{ $out: 'elsewhere' }])
        .toArray(),
  ],
  [
    '$merge',
    () =>
      things()
        .aggregate([{ $merge: 'elsewhere' }])
        .toArray(),
  ],
  [
    '$geoNear',
    () =>
      things()
        .aggregate([{ $geoNear: {} }])
        .toArray(),
  ],
  [
    '$where in a later stage',
    () =>
      things()
        .aggregate([{ $limit: 1 }, { $match: { $where: 'true' } }])
        .toArray(),
  ],
  ['$bit of another name', () => things().updateOne({ _id: 1 }, { $bit: { n: { nand: 1 } } } as never)],
  [
    'a computed projection',
    () =>
      things()
        .find({}, { projection: { twice: { $multiply: ['$n', 2] } } })
        .toArray(),
  ],
];

it.each(REFUSED)('%s', async (_name, run) => {
  await expect(run()).rejects.toMatchObject({
    name: expect.stringMatching(/^Mongo(Server|BulkWrite)Error$/),
    message: expect.stringMatching(/not supported by the embedded database|Unknown modifier|only supports/),
  });
  // The refusal changed nothing.
  expect(await things().countDocuments({})).toBe(1);
  expect(await things().listIndexes().toArray()).toHaveLength(1);
});

it.each([
  { s: { $ne: 'a' } },
  { s: { $nin: ['a'] } },
  { s: { $not: { $gt: 1 } } },
  { s: { $exists: false } },
  { s: /^a/ },
  { s: { $regex: '^a' } },
  { s: { $in: [/^a/] } },
  { $nor: [{ s: 1 }] },
  { $expr: { $gt: ['$a', '$b'] } },
  { $and: [{ s: 1 }, { t: { $ne: 2 } }] },
])('store 10: a partial index by %j is rejected, as MongoDB rejects it', async (partialFilterExpression) => {
  await expect(
    things().createIndex({ s: 1 }, { partialFilterExpression: partialFilterExpression as never }),
  ).rejects.toThrow(/partial index/);
});

it('store 10: partial indexes with filters that MongoDB accepts are built', async () => {
  const filters = [
    { s: { $exists: true } },
    { s: { $gt: '' } },
    { s: 'a', t: { $type: 'string' } },
    { $or: [{ s: { $in: [1, 2] } }, { t: { $lte: 3 } }] },
  ];
  for (const [index, partialFilterExpression] of filters.entries())
    await things().createIndex(
      { s: 1 },
      { name: `taken-${index}`, partialFilterExpression: partialFilterExpression as never },
    );
});

it('change streams', async () => {
  await expect(things().watch().next()).rejects.toThrow('change stream');
});

it('multi-document transactions', async () => {
  const session = await database.connection.startSession();
  session.startTransaction();
  await expect(things().insertOne({ _id: 2 }, { session })).rejects.toThrow('transaction');
  await session.abortTransaction().catch(() => undefined);
  await session.endSession();
  expect(await things().countDocuments({})).toBe(1);
});

it.each([
  [
    'a filter that is no object',
    () =>
      things()
        .find('x' as never)
        .toArray(),
  ],
  [
    '$in without a list',
    () =>
      things()
        .find({ n: { $in: 1 } } as never)
        .toArray(),
  ],
  ['$or without parts', () => things().find({ $or: [] }).toArray()],
  [
    'operators and fields mixed',
    () =>
      things()
        .find({ n: { $gt: 1, x: 2 } } as never)
        .toArray(),
  ],
  [
    'an unknown type',
    () =>
      things()
        .find({ n: { $type: 'number2' } } as never)
        .toArray(),
  ],
  [
    'a projection in and out',
    () =>
      things()
        .find({}, { projection: { n: 1, at: 0 } })
        .toArray(),
  ],
  ['an update of a prototype', () => things().updateOne({ _id: 1 }, { $set: { '__proto__.x': 1 } })],
  ['an unknown command', () => database.connection.db?.command({ noSuchCommand: 1 }) ?? Promise.resolve()],
])('malformed: %s', async (_name, run) => {
  await expect(run()).rejects.toThrow();
  expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  expect(await database.ping()).toBe(true);
});

it('an unknown operator in a pipeline is reported as the client’s mistake', async () => {
  const pipeline = [{ $project: { twice: { $noSuchOperator: ['$n', 2] } } }];
  await expect(things().aggregate(pipeline).toArray()).rejects.toMatchObject({ codeName: 'BadValue' });
});
