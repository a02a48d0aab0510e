/** The mongoose features Parley uses: models, guarded updates, upserts, pages, cursors. */
import mongoose, { type Model } from 'mongoose';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { isDuplicateKey } from '#control-plane/platform/store/duplicate-key.ts';
import { documentSchema } from '#control-plane/platform/store/schema.ts';
import { onEveryDatabase } from './on-every-database.ts';

interface Item {
  id: string;
  type: string;
  heard: number;
}

interface Call {
  _id: string;
  team: string;
  status: 'creating' | 'pending' | 'active' | 'completed';
  rev: number;
  created: Date;
  items: Item[];
  outbox: { id: string; type: string }[];
  config: Record<string, unknown>;
  number?: string | null;
}

const AT = new Date('2026-01-02T03:04:05.678Z');

function call(id: string, over: Partial<Call> = {}): Call {
  return {
    _id: id,
    team: 't1',
    status: 'pending',
    rev: 0,
    created: AT,
    items: [],
    outbox: [],
    config: {},
    ...over,
  };
}

onEveryDatabase('models', (database) => {
  let calls: Model<Call>;

  beforeAll(async () => {
    const schema = documentSchema<Call>({
      _id: String,
      team: { $type: String, required: true },
      status: { $type: String, required: true },
      rev: { $type: Number, default: 0 },
      created: { $type: Date, required: true },
      items: [{ _id: false, id: String, type: String, heard: Number }],
      outbox: [{ _id: false, id: String, type: String }],
      config: { $type: mongoose.Schema.Types.Mixed, default: {} },
      number: String,
    });
    schema.index({ team: 1, created: -1, _id: -1 });
    schema.index(
      { number: 1 },
      { unique: true, partialFilterExpression: { status: { $in: ['creating', 'active'] } } },
    );
    calls = database().connection.model<Call>('Call', schema);
    await calls.createIndexes();
  });
  beforeEach(async () => {
    await calls.deleteMany({});
  });

  it('created documents read back with empty objects, nulls and dates to the millisecond', async () => {
    const given = call('a', {
      items: [{ id: 'i', type: 'said', heard: 0.5 }],
      config: { empty: {}, list: [], none: null, deep: { x: [{ y: 1 }] } },
      number: null,
    });
    await calls.create(given);
    expect(await calls.findById('a').lean()).toEqual(given);
    expect(await calls.findById('b').lean()).toBeNull();
  });

  it('a guarded update changes a document once, however many processes try', async () => {
    await calls.create(call('a'));
    const tries = Array.from({ length: 40 }, () =>
      calls.updateOne({ _id: 'a', status: 'pending' }, { $set: { status: 'active' }, $inc: { rev: 1 } }),
    );
    const results = await Promise.all(tries);
    expect(results.filter((result) => result.matchedCount === 1)).toHaveLength(1);
    expect(await calls.findById('a').lean()).toMatchObject({ status: 'active', rev: 1 });
  });

  it('an update that changes nothing matches without modifying', async () => {
    await calls.create(call('a'));
    expect(await calls.updateOne({ _id: 'a' }, { $set: { status: 'pending' } })).toMatchObject({
      matchedCount: 1,
      modifiedCount: 0,
    });
    expect(await calls.updateOne({ _id: 'z' }, { $set: { status: 'pending' } })).toMatchObject({
      matchedCount: 0,
      modifiedCount: 0,
    });
  });

  it('one update changes state and event together; events are pulled one by one', async () => {
    await calls.create(call('a', { outbox: [{ id: 'a:started', type: 'call.started' }] }));
    await calls.updateOne(
      { _id: 'a' },
      {
        $set: { status: 'completed' },
        $push: { outbox: { $each: [{ id: 'a:ended', type: 'call.ended' }] } },
      },
    );
    expect((await calls.findById('a').lean())?.outbox.map((event) => event.id)).toEqual([
      'a:started',
      'a:ended',
    ]);
    await calls.updateOne({ _id: 'a' }, { $pull: { outbox: { id: 'a:started' } } });
    await calls.updateOne({ _id: 'a' }, { $pull: { outbox: { id: 'never' } } });
    expect(await calls.findById('a').lean()).toMatchObject({
      status: 'completed',
      outbox: [{ id: 'a:ended', type: 'call.ended' }],
    });
  });

  it('an array element is updated through the filter, an array filter or a position', async () => {
    await calls.create(
      call('a', { items: ['x', 'y', 'x'].map((type, index) => ({ id: String(index), type, heard: 0 })) }),
    );
    await calls.updateOne({ _id: 'a', 'items.id': '1' }, { $set: { 'items.$.heard': 1 } });
    await calls.updateOne(
      { _id: 'a' },
      { $inc: { 'items.$[each].heard': 5 } },
      { arrayFilters: [{ 'each.type': 'x' }] },
    );
    await calls.updateOne(
      { _id: 'a', items: { $elemMatch: { type: 'x', heard: 5 } } },
      { $set: { 'items.$.type': 'z' } },
    );
    await calls.updateOne({ _id: 'a' }, { $set: { 'items.2.heard': 9 } });
    expect((await calls.findById('a').lean())?.items.map(({ type, heard }) => [type, heard])).toEqual([
      ['z', 5],
      ['y', 1],
      ['x', 9],
    ]);
  });

  it('an upsert inserts the fields of filter and update, and updates the second time', async () => {
    const insert = { $setOnInsert: { created: AT, status: 'pending' }, $inc: { rev: 1 } } as const;
    const first = await calls.updateOne({ _id: 'u', team: 't9' }, insert, { upsert: true });
    expect(first).toMatchObject({ matchedCount: 0, modifiedCount: 0, upsertedCount: 1, upsertedId: 'u' });
    const second = await calls
      .findOneAndUpdate({ _id: 'u', team: 't9' }, insert, { upsert: true, returnDocument: 'after' })
      .lean();
    expect(second).toMatchObject({ _id: 'u', team: 't9', status: 'pending', rev: 2, created: AT });
  });

  it('a thousand concurrent upserts of one key make one document and lose none', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 1_000 }, () =>
        calls.updateOne({ _id: 'one' }, { $inc: { rev: 1 } }, { upsert: true }),
      ),
    );
    const done = results.filter((result) => result.status === 'fulfilled').length;
    expect(await calls.countDocuments({})).toBe(1);
    expect((await calls.findById('one').lean())?.rev).toBe(done);
  });

  it('exactly one of many concurrent creations takes a number, which is free again when released', async () => {
    const takes = await Promise.allSettled(
      Array.from({ length: 200 }, (_, index) =>
        calls.create(call(`n${index}`, { status: 'active', number: '+15550100' })),
      ),
    );
    expect(takes.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
    const refused = takes.find((result) => result.status === 'rejected')?.reason;
    expect(isDuplicateKey(refused)).toBe(true);
    expect(refused).toMatchObject({
      code: 11_000,
      keyPattern: { number: 1 },
      keyValue: { number: '+15550100' },
    });
    expect(String(refused.message)).toContain('E11000 duplicate key error');
    await calls.create(call('beside', { status: 'completed', number: '+15550100' }));
    await calls.updateOne({ number: '+15550100', status: 'active' }, { $set: { status: 'completed' } });
    await calls.create(call('next', { status: 'active', number: '+15550100' }));
    await expect(calls.updateOne({ _id: 'beside' }, { $set: { status: 'active' } })).rejects.toMatchObject({
      code: 11_000,
    });
    expect((await calls.findById('beside').lean())?.status).toBe('completed');
    const another = calls.collection.findOneAndUpdate(
      { status: 'completed' },
      { $set: { status: 'active' } },
      { sort: { _id: 1 } },
    );
    await expect(another).rejects.toMatchObject({ code: 11_000 });
    expect((await calls.findById('beside').lean())?.status).toBe('completed');
  });

  it('unordered insertMany inserts all but unique index violations, and names each of those', async () => {
    await calls.create(call('a', { status: 'active', number: '+15550100' }));
    const given = [call('b'), call('a'), call('c', { status: 'active', number: '+15550100' }), call('d')];
    const refused = await calls.collection
      .insertMany(given as never, { ordered: false })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(mongoose.mongo.MongoBulkWriteError);
    const { writeErrors } = refused as mongoose.mongo.MongoBulkWriteError;
    expect([writeErrors].flat().map(({ index, code }) => [index, code])).toEqual([
      [1, 11_000],
      [2, 11_000],
    ]);
    expect((await calls.find().sort({ _id: 1 }).lean()).map((each) => each._id)).toEqual(['a', 'b', 'd']);
  });

  it('a second document with the same _id is rejected', async () => {
    await calls.create(call('a'));
    await expect(calls.create(call('a', { rev: 7 }))).rejects.toMatchObject({
      code: 11_000,
      keyPattern: { _id: 1 },
      keyValue: { _id: 'a' },
    });
    expect((await calls.findById('a').lean())?.rev).toBe(0);
  });

  it('pages by key visit every document once, even when many share a timestamp', async () => {
    await calls.insertMany(
      Array.from({ length: 230 }, (_, index) =>
        call(`p${String(index).padStart(3, '0')}`, { created: new Date(+AT + (index % 7)) }),
      ),
    );
    await calls.create(call('other', { team: 't2' }));
    const seen: Call[] = [];
    for (let last: Call | undefined; ; last = seen.at(-1)) {
      const after = last
        ? {
            created: { $lte: last.created },
            $or: [{ created: { $lt: last.created } }, { _id: { $lt: last._id } }],
          }
        : {};
      const page = await calls
        .find({ team: 't1', ...after })
        .sort({ created: -1, _id: -1 })
        .limit(25)
        .lean<Call[]>();
      seen.push(...page);
      if (page.length < 25) break;
    }
    const order = [...seen].sort(
      (left, right) => +right.created - +left.created || (left._id < right._id ? 1 : -1),
    );
    expect(seen).toHaveLength(230);
    expect(seen.map((each) => each._id)).toEqual(order.map((each) => each._id));
  });

  it('findOneAndUpdate takes the first in order; many claimants get each document once', async () => {
    await calls.insertMany(
      Array.from({ length: 60 }, (_, index) =>
        call(`d${index}`, { created: new Date(+AT + ((index * 17) % 60)) }),
      ),
    );
    const claim = () =>
      calls
        .findOneAndUpdate(
          { status: 'pending', created: { $lte: new Date(+AT + 1_000) } },
          { $set: { status: 'completed' } },
          { sort: { created: 1 }, returnDocument: 'after' },
        )
        .lean<Call>();
    expect((await claim())?.created).toEqual(AT);
    const claimed: string[] = [];
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let next = await claim(); next; next = await claim()) claimed.push(next._id);
      }),
    );
    expect(claimed).toHaveLength(59);
    expect(new Set(claimed).size).toBe(59);
  });

  it('findOneAndUpdate and findOneAndDelete return the document before, after or projected', async () => {
    await calls.create(call('a', { rev: 1 }));
    expect(
      (await calls.findOneAndUpdate({ _id: 'a' }, { $inc: { rev: 1 } }, { returnDocument: 'before' }).lean())
        ?.rev,
    ).toBe(1);
    expect(
      await calls
        .findOneAndUpdate(
          { _id: 'a' },
          { $inc: { rev: 1 } },
          { returnDocument: 'after', projection: { rev: 1 } },
        )
        .lean(),
    ).toEqual({
      _id: 'a',
      rev: 3,
    });
    expect(await calls.findOneAndUpdate({ _id: 'none' }, { $inc: { rev: 1 } }).lean()).toBeNull();
    expect((await calls.findOneAndDelete({ _id: 'a' }).lean())?.rev).toBe(3);
    expect(await calls.findOneAndDelete({ _id: 'a' }).lean()).toBeNull();
  });

  it('of two concurrent edits of a document only one is saved', async () => {
    const schema = new mongoose.Schema({ _id: String, n: Number }, { optimisticConcurrency: true });
    const notes = database().connection.model('Note', schema);
    await notes.create({ _id: 'a', n: 0 });
    const [one, two] = [await notes.findById('a'), await notes.findById('a')];
    one?.set('n', 1);
    await one?.save();
    two?.set('n', 2);
    await expect(two?.save()).rejects.toThrow(/No matching document|VersionError/);
    expect((await notes.findById('a').lean())?.n).toBe(1);
  });

  it('bulkWrite runs its steps in order and stops at the first refusal, or continues if unordered', async () => {
    const result = await calls.bulkWrite([
      { insertOne: { document: call('a') } },
      { updateOne: { filter: { _id: 'a' }, update: { $set: { rev: 5 } } } },
      { updateMany: { filter: { team: 't1' }, update: { $inc: { rev: 1 } } } },
      { replaceOne: { filter: { _id: 'b' }, replacement: call('b', { rev: 9 }), upsert: true } },
      { deleteOne: { filter: { _id: 'a', rev: 6 } } },
    ]);
    expect(result).toMatchObject({ insertedCount: 1, modifiedCount: 2, upsertedCount: 1, deletedCount: 1 });
    const inserts = ['c', 'b', 'd'].map((id) => ({ insertOne: { document: call(id) } }));
    await expect(calls.bulkWrite(inserts)).rejects.toMatchObject({ code: 11_000 });
    expect((await calls.find().sort({ _id: 1 }).lean()).map((each) => each._id)).toEqual(['b', 'c']);
    await expect(
      calls.bulkWrite(
        ['c', 'b', 'd'].map((id) => ({ insertOne: { document: call(id) } })),
        { ordered: false },
      ),
    ).rejects.toMatchObject({ code: 11_000 });
    expect((await calls.find().sort({ _id: 1 }).lean()).map((each) => each._id)).toEqual(['b', 'c', 'd']);
  });

  it('a cursor returns every document of a long result, in order, during writes', async () => {
    await calls.insertMany(
      Array.from({ length: 1_500 }, (_, index) => call(`c${String(index).padStart(4, '0')}`, { rev: index })),
    );
    const seen: string[] = [];
    for await (const each of calls
      .find({ team: 't1' })
      .sort({ _id: 1 })
      .lean<Call[]>()
      .cursor({ batchSize: 100 })) {
      if (seen.length === 300) await calls.deleteMany({ rev: { $gte: 1_400 } });
      seen.push(each._id);
    }
    expect(seen.length).toBeGreaterThanOrEqual(1_400);
    expect(seen).toEqual([...seen].sort());
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('a large document is stored completely, and one beyond 16 MiB is rejected', async () => {
    const text = 'é'.repeat(3_000_000);
    await calls.create(call('big', { config: { text } }));
    await calls.create(call('big2', { config: { text } }));
    const both = await calls.find({ _id: { $in: ['big', 'big2'] } }).lean<Call[]>();
    expect(both.map((each) => (each.config['text'] as string).length)).toEqual([3_000_000, 3_000_000]);
    await expect(
      calls.create(call('huge', { config: { text: 'x'.repeat(17 * 1024 * 1024) } })),
    ).rejects.toThrow();
    await expect(
      calls.updateOne({ _id: 'big' }, { $push: { 'config.more': 'x'.repeat(11 * 1024 * 1024) } }),
    ).rejects.toThrow();
    expect(await calls.countDocuments({})).toBe(2);
  });

  it('projections select fields, including nested ones, and slices of arrays', async () => {
    await calls.create(
      call('a', {
        items: [1, 2, 3].map((n) => ({ id: String(n), type: 'x', heard: n })),
        config: { p: 1, q: { r: 2, s: 3 } },
      }),
    );
    expect(await calls.findById('a').select('team rev').lean()).toEqual({ _id: 'a', team: 't1', rev: 0 });
    expect(Object.keys((await calls.findById('a').select('-items -config').lean()) ?? {})).not.toContain(
      'items',
    );
    expect(await calls.findById('a', { 'items.heard': 1, 'config.q.s': 1, _id: 0 }).lean()).toEqual({
      items: [{ heard: 1 }, { heard: 2 }, { heard: 3 }],
      config: { q: { s: 3 } },
    });
    expect(
      (await calls.findById('a', { items: { $slice: -2 } }).lean())?.items.map((item) => item.heard),
    ).toEqual([2, 3]);
    expect(
      (await calls.findById('a', { items: { $elemMatch: { heard: { $gt: 1 } } } }).lean())?.items,
    ).toEqual([{ id: '2', type: 'x', heard: 2 }]);
  });

  it('syncIndexes changes nothing when the indexes exist', async () => {
    expect(await calls.syncIndexes()).toEqual([]);
    expect((await calls.listIndexes()).map((index) => Object.keys(index['key'] as object))).toEqual([
      ['_id'],
      ['team', 'created', '_id'],
      ['number'],
    ]);
  });
});
