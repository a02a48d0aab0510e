/**
 * Random documents and queries: an indexed collection must answer exactly like an unindexed one, and sorts
 * must agree with a model in memory.
 */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareValues, encodeKey, keyAfter } from '#control-plane/platform/store/embedded/keys.ts';
import { openTestDatabase, type TestDatabase } from '../open-test-database.ts';

interface Doc {
  _id: number;
  [field: string]: unknown;
}

const scalar = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(0.5, -0.5, 1e300, -1e-300),
  fc.constantFrom('', 'a', 'b', 'ab', 'k\0z', 'é'),
  fc.constantFrom(null, true, false),
  fc.integer({ min: 0, max: 3 }).map((ms) => new Date(ms)),
);
const value = fc.oneof(
  { weight: 6, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.record({ x: scalar }, { requiredKeys: [] }) },
);
const document = fc.record(
  { a: value, b: value, c: fc.integer({ min: 0, max: 9 }), d: fc.record({ e: value }, { requiredKeys: [] }) },
  { requiredKeys: ['c'] },
);

const bound = scalar.filter((each) => each !== null);
const condition = fc.oneof(
  scalar,
  fc.array(scalar, { minLength: 1, maxLength: 4 }).map((list) => ({ $in: list })),
  fc
    .tuple(fc.constantFrom('$gt', '$gte', '$lt', '$lte'), bound)
    .map(([name, operand]) => ({ [name]: operand })),
  fc
    .tuple(fc.constantFrom('$gt', '$gte'), bound, fc.constantFrom('$lt', '$lte'), bound)
    .map(([low, from, high, to]) => ({ [low]: from, [high]: to })),
  fc.constantFrom(
    { $exists: true },
    { $exists: false },
    { $ne: null },
    { $type: 'string' },
    { $size: 2 },
    { $not: { $gt: 0 } },
  ),
  fc.array(scalar, { maxLength: 2 }),
  fc.record({ x: scalar }),
);
const idCondition = fc.oneof(
  fc.integer({ min: 0, max: 60 }),
  fc.integer({ min: 0, max: 60 }).map((id) => ({ $gte: id })),
);
const filter = fc
  .uniqueArray(
    fc.oneof(
      fc.tuple(fc.constantFrom('a', 'b', 'c', 'd.e'), condition),
      fc.tuple(fc.constant('_id'), idCondition),
    ),
    {
      maxLength: 2,
      selector: ([path]) => path,
    },
  )
  .map((parts) => Object.fromEntries<unknown>(parts));
const direction = fc.constantFrom(1 as const, -1 as const);
const sort = fc.oneof(
  fc.constant({}),
  fc
    .tuple(fc.constantFrom('a', 'b', 'c', 'd.e', '_id'), direction)
    .map(([path, order]) => ({ [path]: order })),
  fc.tuple(direction, direction).map(([c, id]) => ({ c, _id: id })),
  fc.tuple(direction, direction).map(([a, b]) => ({ a, b })),
);

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

describe('indexed against unindexed', () => {
  it('every query finds the same documents in a valid order, with the same count', async () => {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(document, { minLength: 20, maxLength: 60 }),
        fc.array(fc.tuple(filter, sort), { minLength: 20, maxLength: 20 }),
        async (documents, queries) => {
          const name = randomBytes(4).toString('hex');
          const plain = database.connection.collection<Doc>(`plain_${name}`);
          const indexed = database.connection.collection<Doc>(`indexed_${name}`);
          await indexed.createIndexes([
            { key: { a: 1, b: -1 } },
            { key: { c: -1, _id: 1 } },
            { key: { 'd.e': -1 } },
            { key: { b: 1 }, partialFilterExpression: { b: { $type: 'string' } } },
            { key: { a: -1 }, sparse: true, name: 'sparse' },
          ]);
          const rows = documents.map((each, index) => ({ ...each, _id: index }));
          await Promise.all([plain.insertMany(rows), indexed.insertMany(rows)]);
          for (const [query, order] of queries) found += await compare(plain, indexed, [query, order]);
          await Promise.all([plain.drop(), indexed.drop()]);
        },
      ),
      { numRuns: 25 },
    );
    expect(found).toBeGreaterThan(500);
  }, 120_000);

  it('updates and removals keep the indexes correct', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(document, { minLength: 10, maxLength: 30 }),
        fc.array(fc.tuple(filter, value), { minLength: 10, maxLength: 10 }),
        async (documents, changes) => {
          const name = randomBytes(4).toString('hex');
          const plain = database.connection.collection<Doc>(`plain_${name}`);
          const indexed = database.connection.collection<Doc>(`indexed_${name}`);
          await indexed.createIndexes([{ key: { a: 1, b: -1 } }, { key: { c: -1 } }, { key: { 'd.e': 1 } }]);
          const rows = documents.map((each, index) => ({ ...each, _id: index }));
          await Promise.all([plain.insertMany(rows), indexed.insertMany(rows)]);
          for (const [index, [query, changed]] of changes.entries()) {
            for (const collection of [plain, indexed]) {
              if (index % 4 === 3) await collection.deleteMany(query as object);
              else
                await collection.updateMany(query as object, {
                  $set: { [['a', 'b', 'd'][index % 3] ?? 'a']: changed },
                });
            }
            expect(await indexed.find({}).sort({ _id: 1 }).toArray()).toEqual(
              await plain.find({}).sort({ _id: 1 }).toArray(),
            );
            expect(ids(await indexed.find({ a: { $gte: 0 } }).toArray()).sort()).toEqual(
              ids(await plain.find({ a: { $gte: 0 } }).toArray()).sort(),
            );
          }
          await Promise.all([plain.drop(), indexed.drop()]);
        },
      ),
      { numRuns: 15 },
    );
  }, 120_000);
});

describe('keys', () => {
  it('compare like their values, also inverted, and end before their successor', () => {
    fc.assert(
      fc.property(value, value, (left, right) => {
        const order = Math.sign(compareValues(left, right));
        expect(Math.sign(Buffer.compare(encodeKey(left), encodeKey(right)))).toBe(order);
        expect(Math.sign(Buffer.compare(encodeKey(left, -1), encodeKey(right, -1))) + order).toBe(0);
        expect(Buffer.compare(encodeKey(left), keyAfter(encodeKey(left)))).toBe(-1);
        if (typeof left === 'number' && typeof right === 'number')
          expect(order).toBe(Math.sign(left - right));
        if (typeof left === 'string' && typeof right === 'string')
          expect(order).toBe(Buffer.compare(Buffer.from(left), Buffer.from(right)));
      }),
      { numRuns: 2_000 },
    );
  });
});

/** Runs a query on both and compares the results; returns the number of documents found. */
async function compare(
  plain: Documents,
  indexed: Documents,
  [query, order]: readonly [object, Record<string, 1 | -1>],
): Promise<number> {
  const label = JSON.stringify([query, order]);
  const [expected, actual] = await Promise.all(
    [plain, indexed].map((each) => each.find(query).sort(order).toArray()),
  );
  expect(ids(actual).sort(), label).toEqual(ids(expected).sort());
  if ('_id' in order) expect(ids(actual), label).toEqual(ids(expected));
  else expect(sortValues(actual, order), label).toEqual(sortValues(expected, order));
  expect(await indexed.countDocuments(query), label).toBe(ids(expected).length);
  return ids(expected).length;
}

type Documents = ReturnType<typeof database.connection.collection<Doc>>;

function ids(documents: readonly Doc[] = []): number[] {
  return documents.map((each) => each._id);
}

/** The sort keys of the documents: equal for documents whose order is undefined. */
function sortValues(documents: readonly Doc[] | undefined, order: Record<string, 1 | -1>): string[] {
  return (documents ?? []).map((each) =>
    JSON.stringify(
      Object.entries(order).map(([path, sign]) =>
        extreme(path === 'd.e' ? (each['d'] as Doc | undefined)?.['e'] : each[path], sign),
      ),
    ),
  );
}

function extreme(found: unknown, sign: 1 | -1): string {
  if (!Array.isArray(found)) return encodeKey(found).toString('hex');
  if (found.length === 0) return 'empty';
  const keys = found.map((element) => encodeKey(element).toString('hex')).sort();
  return (sign > 0 ? keys[0] : keys.at(-1)) ?? '';
}
