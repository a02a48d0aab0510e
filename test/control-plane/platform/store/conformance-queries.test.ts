/** Query, update and aggregation operators as MongoDB defines them, through the driver's own collections. */
import mongoose from 'mongoose';
import { beforeEach, expect, it } from 'vitest';
import { onEveryDatabase } from './on-every-database.ts';

const { Binary, Decimal128, Long, ObjectId, UUID } = mongoose.mongo;
interface Doc {
  _id: number | string | mongoose.mongo.ObjectId;
  [field: string]: unknown;
}

onEveryDatabase('queries', (database) => {
  const things = () => database().connection.collection<Doc>('things');
  const ids = async (filter: object, sort: Record<string, 1 | -1> = { _id: 1 }) =>
    (await things().find(filter).sort(sort).toArray()).map((each) => each._id);
  const update = (change: object) => things().updateOne({ _id: 1 }, change as never);
  const only = async (): Promise<Doc> => (await things().findOne<Doc>({})) ?? { _id: 'none' };

  beforeEach(async () => {
    await things().deleteMany({});
  });

  const oid = new ObjectId('00000000000000000000000a');
  const later = new ObjectId('00000000000000000000000b');

  it('values of every type are found by equality, range and $type', async () => {
    await things().insertMany([
      { _id: 1, v: oid, d: new Date(5), b: new Binary(Buffer.from('abc')), s: 'é', n: null, f: 1.5 },
      {
        _id: 2,
        v: later,
        d: new Date(10),
        u: new UUID('00112233-4455-6677-8899-aabbccddeeff'),
        s: 'z',
        f: 2,
        t: true,
      },
      { _id: 3, v: [1, 'x'], f: Long.fromString('9007199254740995'), r: /x/i },
    ]);
    expect(await ids({ v: oid })).toEqual([1]);
    expect(await ids({ v: { $gt: oid } })).toEqual([2]);
    expect(await ids({ v: { $in: [oid, 'x'] } })).toEqual([1, 3]);
    expect(await ids({ d: { $gte: new Date(5), $lt: new Date(10) } })).toEqual([1]);
    expect(await ids({ b: new Binary(Buffer.from('abc')) })).toEqual([1]);
    expect(await ids({ u: new UUID('00112233-4455-6677-8899-aabbccddeeff') })).toEqual([2]);
    expect(await ids({ f: { $gt: 1.5 } })).toEqual([2, 3]);
    expect(await ids({ f: Long.fromString('9007199254740995') })).toEqual([3]);
    expect(await ids({ f: Long.fromString('9007199254740994') })).toEqual([]);
    expect(await ids({ v: { $type: 'objectId' } })).toEqual([1, 2]);
    expect(await ids({ b: { $type: 'binData' } })).toEqual([1]);
    expect(await ids({ s: { $type: 2 } })).toEqual([1, 2]);
    expect(await ids({ d: { $type: ['date', 'bool'] } })).toEqual([1, 2]);
    expect(await ids({ v: { $type: 'array' } })).toEqual([3]);
    expect(await ids({ v: { $type: 'number' } })).toEqual([3]);
    expect(await ids({ s: { $gt: 5 } })).toEqual([]);
    expect(await ids({ t: { $ne: true } })).toEqual([1, 3]);
  });

  it('null matches missing fields, $exists does not', async () => {
    await things().insertMany([
      { _id: 1, a: null },
      { _id: 2 },
      { _id: 3, a: 0 },
      { _id: 4, a: [] },
      { _id: 5, a: [null] },
      { _id: 6, a: { b: 1 } },
    ]);
    expect(await ids({ a: null })).toEqual([1, 2, 5]);
    expect(await ids({ a: { $ne: null } })).toEqual([3, 4, 6]);
    expect(await ids({ a: { $exists: false } })).toEqual([2]);
    expect(await ids({ a: { $in: [null, 0] } })).toEqual([1, 2, 3, 5]);
    expect(await ids({ 'a.b': { $exists: true } })).toEqual([6]);
    expect(await ids({ 'a.b': null })).toEqual([1, 2, 3]);
  });

  it('arrays match by element, by complete value, by size and by $elemMatch', async () => {
    await things().insertMany([
      {
        _id: 1,
        a: [
          { x: 1, y: 2 },
          { x: 3, y: 4 },
        ],
      },
      { _id: 2, a: [1, 2, 3] },
      { _id: 3, a: 2 },
      { _id: 4, a: [[1, 2], 3] },
      { _id: 5, a: [{ x: 1, y: 4 }] },
    ]);
    expect(await ids({ a: 2 })).toEqual([2, 3]);
    expect(await ids({ a: [1, 2, 3] })).toEqual([2]);
    expect(await ids({ a: [1, 2] })).toEqual([4]);
    expect(await ids({ a: { $size: 3 } })).toEqual([2]);
    expect(await ids({ a: { $all: [1, 3] } })).toEqual([2]);
    expect(await ids({ a: { $all: [2] } })).toEqual([2, 3]);
    expect(await ids({ 'a.x': 1, 'a.y': 4 })).toEqual([1, 5]);
    expect(await ids({ a: { $elemMatch: { x: 1, y: 4 } } })).toEqual([5]);
    expect(await ids({ a: { $elemMatch: { $gt: 2, $lt: 4 } } })).toEqual([2, 4]);
    expect(await ids({ 'a.0': 1 })).toEqual([2]);
    expect(await ids({ 'a.0': [1, 2] })).toEqual([4]);
    expect(await ids({ 'a.0.x': 1 })).toEqual([1, 5]);
    expect(await ids({ a: { $gt: 2, $lt: 2 } })).toEqual([2]);
    expect(await ids({ a: { $not: { $gt: 0 } } })).toEqual([1, 5]);
    expect(await ids({ 'a.x': { $nin: [3] } })).toEqual([2, 3, 4, 5]);
  });

  it('store 10: an array position that is itself an array is not searched', async () => {
    await things().insertMany([
      { _id: 1, a: [[1, 2], 3] },
      { _id: 2, a: [1, 2] },
      { _id: 3, a: { 0: [1, 2] } },
    ]);
    expect(await ids({ 'a.0': 1 })).toEqual([2, 3]);
    expect(await ids({ 'a.0': [1, 2] })).toEqual([1, 3]);
    expect(await ids({ 'a.0.0': 1 })).toEqual([1, 3]);
  });

  it('logical operators, patterns, remainders and expressions work', async () => {
    await things().insertMany([
      { _id: 1, s: 'Anna', n: 4, m: 4 },
      { _id: 2, s: 'bert', n: 5, m: 9 },
      { _id: 3, s: 'berta', n: 6, m: 1 },
    ]);
    expect(await ids({ $or: [{ n: 4 }, { s: /^bert$/ }] })).toEqual([1, 2]);
    expect(await ids({ $nor: [{ n: 4 }, { n: 5 }] })).toEqual([3]);
    expect(await ids({ $and: [{ n: { $gt: 4 } }, { n: { $lt: 6 } }] })).toEqual([2]);
    expect(await ids({ s: /^ANNA$/i })).toEqual([1]);
    expect(await ids({ s: { $regex: '^BERT', $options: 'i' } })).toEqual([2, 3]);
    expect(await ids({ s: { $in: [/^b/, 'Anna'] } })).toEqual([1, 2, 3]);
    expect(await ids({ s: { $not: /a$/ } })).toEqual([2]);
    expect(await ids({ n: { $mod: [2, 0] } })).toEqual([1, 3]);
    expect(await ids({ $expr: { $gt: ['$m', '$n'] } })).toEqual([2]);
  });

  it('sorts order by type; an array sorts by its smallest element ascending, its largest descending', async () => {
    await things().insertMany([
      { _id: 1, v: 'b' },
      { _id: 2, v: [1, 9] },
      { _id: 3 },
      { _id: 4, v: 5 },
      { _id: 5, v: new Date(0) },
      { _id: 6, v: true },
      { _id: 7, v: {} },
      { _id: 8, v: 'a' },
      { _id: 9, v: [] },
    ]);
    expect(await ids({}, { v: 1, _id: 1 })).toEqual([9, 3, 2, 4, 8, 1, 7, 6, 5]);
    expect(await ids({}, { v: -1, _id: 1 })).toEqual([5, 6, 7, 1, 8, 2, 4, 3, 9]);
  });

  it('bits of an integer are cleared and set in one update, and those of a missing one are 0', async () => {
    await things().insertOne({ _id: 1, n: 0b1101, f: 0.5, none: null });
    await update({ $bit: { n: { and: 0b0111, or: 0b0010 }, new: { or: 4 } } });
    expect(await only()).toMatchObject({ n: 0b0111, new: 4 });
    await update({ $bit: { n: { xor: 0b0001 }, new: { and: ~4 } } });
    expect(await only()).toMatchObject({ n: 0b0110, new: 0 });
    for (const field of ['f', 'none'])
      await expect(update({ $bit: { [field]: { or: 1 } } })).rejects.toMatchObject({ code: 2 });
  });

  it('numeric updates keep integers exact and refuse values that are not numbers', async () => {
    await things().insertOne({
      _id: 1,
      n: 2,
      f: 0.5,
      s: 'x',
      deep: { s: 'y' },
      big: Long.fromString('9007199254740993'),
    });
    await update({
      $inc: { n: 3, f: 1, 'new.n': 7, big: 1 },
      $mul: { m: 4 },
      $min: { lo: 3 },
      $max: { hi: 3 },
    });
    const found = await things().findOne({ _id: 1 }, { promoteLongs: false });
    expect({
      n: Number(found?.['n']),
      f: Number(found?.['f']),
      m: Number(found?.['m']),
      big: String(found?.['big']),
      made: found?.['new'],
    }).toMatchObject({ n: 5, f: 1.5, m: 0, big: '9007199254740994' });
    await expect(update({ $inc: { s: 1 } })).rejects.toMatchObject({ code: 14 });
    await expect(update({ $inc: { 'deep.s': 1 } })).rejects.toMatchObject({ code: 14 });
    await expect(update({ $inc: { n: 'x' } })).rejects.toMatchObject({ code: 14 });
    await expect(update({ $set: { 's.x': 1 } })).rejects.toMatchObject({ code: 28 });
    await expect(update({ $set: { 'z.a': 1 }, $inc: { 'z.a': 1 } })).rejects.toMatchObject({ code: 40 });
    await expect(update({ $set: { z: 1 }, $unset: { 'z.a': 1 } })).rejects.toMatchObject({ code: 40 });
    await expect(update({ $set: { _id: 2 } })).rejects.toMatchObject({ code: 66 });
    await expect(update({ $nonsense: { a: 1 } })).rejects.toMatchObject({ code: 9 });
    expect(await only()).toMatchObject({ _id: 1, n: 5, s: 'x' });
  });

  it('array updates push with sort and slice onto a missing array, add to sets, pop and pull', async () => {
    await things().insertOne({ _id: 1, a: [3, 1, 2], o: [{ v: 3 }, { v: 1, w: 1 }, 4], scalar: 1 });
    await update({ $push: { made: { $each: [{ v: 3 }, { v: 1 }, { v: 2 }], $sort: { v: 1 }, $slice: 2 } } });
    await update({ $push: { a: { $each: [9, 8], $position: 1 } } });
    await update({ $addToSet: { set: oid } });
    await update({ $addToSet: { set: { $each: [oid, later] } } });
    await update({ $pull: { o: { v: { $gte: 2 } } } });
    expect(await only()).toMatchObject({
      made: [{ v: 1 }, { v: 2 }],
      a: [3, 9, 8, 1, 2],
      set: [oid, later],
      o: [{ v: 1, w: 1 }, 4],
    });
    await update({ $pull: { a: { $in: [9, 8] } }, $pop: { made: -1 }, $pullAll: { set: [oid] } });
    await update({ $pull: { o: 4 } });
    expect(await only()).toMatchObject({ a: [3, 1, 2], made: [{ v: 2 }], set: [later], o: [{ v: 1, w: 1 }] });
    await update({
      $set: { 'a.5': 0 },
      $unset: { 'o.0.w': 1 },
      $rename: { scalar: 'renamed' },
      $currentDate: { at: true },
    });
    const found = await only();
    expect(found).toMatchObject({ a: [3, 1, 2, null, null, 0], o: [{ v: 1 }], renamed: 1 });
    expect(found['at']).toBeInstanceOf(Date);
    expect(found).not.toHaveProperty('scalar');
    await expect(update({ $push: { renamed: 1 } })).rejects.toMatchObject({ code: 2 });
    await expect(update({ $set: { 'a.name': 1 } })).rejects.toMatchObject({ code: 28 });
  });

  it('replacements keep the _id, and pipeline updates compute values', async () => {
    await things().insertOne({ _id: 1, n: 1, old: true });
    await things().replaceOne({ _id: 1 }, { n: 2 });
    expect(await only()).toEqual({ _id: 1, n: 2 });
    await update([{ $set: { n: { $add: ['$n', 40] }, twice: { $multiply: ['$n', 2] } } }]);
    expect(await only()).toEqual({ _id: 1, n: 42, twice: 4 });
  });

  it('an upsert takes nested and complete values from its filter', async () => {
    await things().updateOne(
      { 'a.b': 1, whole: { x: 1 }, $and: [{ c: { $eq: 2 } }], d: { $gt: 5 } },
      { $set: { e: 3 } },
      { upsert: true },
    );
    const { _id, ...rest } = await only();
    expect(rest).toEqual({ a: { b: 1 }, whole: { x: 1 }, c: 2, e: 3 });
    expect(_id).toBeInstanceOf(ObjectId);
  });

  it('counts, distinct values, skips and limits work', async () => {
    await things().insertMany(
      Array.from({ length: 50 }, (_, index) => ({
        _id: index,
        team: index % 3,
        tags: [index % 2 ? 'odd' : 'even', 'all'],
      })),
    );
    expect(await things().countDocuments({ team: 1 })).toBe(17);
    expect(await things().countDocuments({}, { skip: 45, limit: 10 })).toBe(5);
    expect(await things().estimatedDocumentCount()).toBe(50);
    expect((await things().distinct('tags', { team: 1 })).sort()).toEqual(['all', 'even', 'odd']);
    expect(
      (await things().find({ team: 0 }).sort({ _id: -1 }).skip(2).limit(3).toArray()).map((each) => each._id),
    ).toEqual([42, 39, 36]);
    expect(await things().find({}).limit(0).toArray()).toHaveLength(50);
  });

  it('aggregations group, unwind, join, sort, bucket and count', async () => {
    await things().insertMany(
      Array.from({ length: 300 }, (_, index) => ({
        _id: index,
        team: `t${index % 3}`,
        n: index,
        tags: index % 2 ? ['a', 'b'] : ['b'],
        at: new Date(Date.UTC(2026, 0, 1 + (index % 2))),
      })),
    );
    const grouped = await things()
      .aggregate([
        { $match: { n: { $lt: 90 } } },
        { $group: { _id: '$team', count: { $sum: 1 }, most: { $max: '$n' }, mean: { $avg: '$n' } } },
        { $sort: { _id: 1 } },
      ])
      .toArray();
    expect(grouped).toEqual([
      { _id: 't0', count: 30, most: 87, mean: 43.5 },
      { _id: 't1', count: 30, most: 88, mean: 44.5 },
      { _id: 't2', count: 30, most: 89, mean: 45.5 },
    ]);
    const unwound = await things()
      .aggregate([
        { $unwind: '$tags' },
        { $match: { tags: { $in: ['a', 'b'] } } },
        { $group: { _id: '$tags', n: { $sum: 1 } } },
        { $sort: { n: 1 } },
      ])
      .toArray();
    expect(unwound).toEqual([
      { _id: 'a', n: 150 },
      { _id: 'b', n: 300 },
    ]);
    const [facet] = await things()
      .aggregate([
        {
          $facet: {
            total: [{ $count: 'n' }],
            top: [{ $sort: { n: -1 } }, { $limit: 2 }, { $project: { n: 1 } }],
          },
        },
      ])
      .toArray();
    expect(facet).toEqual({
      total: [{ n: 300 }],
      top: [
        { _id: 299, n: 299 },
        { _id: 298, n: 298 },
      ],
    });
    const days = await things()
      .aggregate([
        { $group: { _id: { $dateToString: { date: '$at', format: '%Y-%m-%d' } }, sum: { $sum: '$n' } } },
        { $sort: { _id: 1 } },
      ])
      .toArray();
    expect(days).toEqual([
      { _id: '2026-01-01', sum: 22_350 },
      { _id: '2026-01-02', sum: 22_500 },
    ]);
    const joined = await things()
      .aggregate([
        { $match: { _id: 5 } },
        { $lookup: { from: 'things', localField: 'team', foreignField: 'team', as: 'peers' } },
      ])
      .toArray();
    expect(joined[0]?.['peers']).toHaveLength(100);
    expect(
      await things()
        .aggregate([{ $match: { n: { $gte: 290 } } }, { $sort: { n: -1 } }, { $skip: 2 }, { $limit: 3 }])
        .toArray(),
    ).toMatchObject([{ _id: 297 }, { _id: 296 }, { _id: 295 }]);
    expect(
      await things()
        .aggregate([{ $match: { n: -1 } }, { $count: 'n' }])
        .toArray(),
    ).toEqual([]);
  });

  it('a TTL index expires its documents, and others stay', async () => {
    const kept = database().connection.collection<Doc>('expiring');
    await kept.createIndex({ at: 1 }, { expireAfterSeconds: 3_600 });
    await kept.insertMany([
      { _id: 'old', at: new Date(Date.now() - 3_700_000) },
      { _id: 'young', at: new Date() },
      { _id: 'dateless' },
      { _id: 'text', at: 'x' },
    ]);
    await expect
      .poll(async () => (await kept.find({}).toArray()).map((each) => each._id).sort(), {
        timeout: 90_000,
        interval: 200,
      })
      .toEqual(['dateless', 'text', 'young']);
  }, 100_000);

  it('unique indexes apply to arrays, compound keys and existing documents', async () => {
    const unique = database().connection.collection<Doc>('unique');
    await unique.insertMany([
      { _id: 1, a: 1, b: 1 },
      { _id: 2, a: 1, b: 1 },
    ]);
    await expect(unique.createIndex({ a: 1, b: 1 }, { unique: true })).rejects.toMatchObject({
      code: 11_000,
    });
    await unique.updateOne({ _id: 2 }, { $set: { b: 2 } });
    await unique.createIndex({ a: 1, b: 1 }, { unique: true });
    await expect(unique.updateOne({ _id: 2 }, { $set: { b: 1 } })).rejects.toMatchObject({
      code: 11_000,
      keyPattern: { a: 1, b: 1 },
      keyValue: { a: 1, b: 1 },
    });
    await unique.createIndex({ tags: 1 }, { unique: true, sparse: true });
    await unique.insertMany([
      { _id: 3, a: 3, b: 3, tags: ['x', 'y', 'x'] },
      { _id: 4, a: 4, b: 4 },
    ]);
    await expect(unique.insertOne({ _id: 5, a: 5, b: 5, tags: ['z', 'y'] })).rejects.toMatchObject({
      code: 11_000,
    });
    await unique.deleteOne({ _id: 3 });
    await unique.insertOne({ _id: 5, a: 5, b: 5, tags: ['z', 'y'] });
    await expect(
      unique.createIndex({ a: 1, b: 1 }, { unique: false, name: 'a_1_b_1' }),
    ).rejects.toMatchObject({ code: expect.toBeOneOf([85, 86]) });
  });

  it('Decimal128 values are stored unchanged', async () => {
    await things().insertOne({ _id: 1, price: Decimal128.fromString('1.10') });
    expect(String((await only())['price'])).toBe('1.10');
  });
});
