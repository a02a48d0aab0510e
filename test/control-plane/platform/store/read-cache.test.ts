import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { KeyDocument } from '#control-plane/platform/store/models/key-model.ts';
import type { UserDocument } from '#control-plane/platform/store/models/user-model.ts';
import {
  createReadCaches,
  type KeyWithAccount,
  type ReadCaches,
} from '#control-plane/platform/store/read-cache.ts';
import { openTestStore, type TestStore } from '../../test-store.ts';

const KEY = {
  _id: 'k1',
  user_id: 'u1',
  name: 'first',
  hash: 'h1',
  is_root: false,
  expires_at: null,
  created_at: new Date(0),
};
const USER = {
  _id: 'u1',
  name: 'Ada',
  team_id: 't1',
  workspace_id: 'w1',
  beta_access: true,
  phone_number_limit: 1,
  created_at: new Date(0),
};

let store: TestStore;
let caches: ReadCaches;
let reads: number;

beforeAll(async () => {
  store = await openTestStore();
  caches = createReadCaches(store.models, true);
});
beforeEach(async () => {
  await Promise.all([store.models.keys.deleteMany({}), store.models.users.deleteMany({})]);
  await Promise.all([store.models.keys.create(KEY), store.models.users.create(USER)]);
  reads = 0;
});
afterAll(() => store.close());

async function readKey(): Promise<KeyWithAccount | null> {
  reads += 1;
  const key = await store.models.keys.findOne({ hash: 'h1' }).lean<KeyDocument>();
  const user = await store.models.users.findById('u1').lean<UserDocument>();
  return key && user && { key, user };
}

const ask = () => caches.keys('h1', readKey);

describe('a read memory', () => {
  it('reads from the store once', async () => {
    expect((await ask())?.key.name).toBe('first');
    expect((await ask())?.user.name).toBe('Ada');
    expect(reads).toBe(1);
  });

  it('does not remember missing documents', async () => {
    await store.models.keys.deleteOne({ _id: 'k1' });
    expect(await ask()).toBeNull();
    await store.models.keys.create(KEY);
    expect((await ask())?.key.name).toBe('first');
  });

  const { keys, users } = { keys: () => store.models.keys, users: () => store.models.users };
  it.each<readonly [string, () => Promise<unknown>]>([
    ['updateOne', () => keys().updateOne({ _id: 'k1' }, { $set: { name: 'new' } })],
    ['updateMany', () => keys().updateMany({}, { $set: { name: 'new' } })],
    ['replaceOne', () => keys().replaceOne({ _id: 'k1' }, { ...KEY, name: 'new' })],
    ['findOneAndUpdate', () => keys().findOneAndUpdate({ _id: 'k1' }, { $set: { name: 'new' } })],
    ['findByIdAndUpdate', () => keys().findByIdAndUpdate('k1', { $set: { name: 'new' } })],
    ['findOneAndReplace', () => keys().findOneAndReplace({ _id: 'k1' }, { ...KEY, name: 'new' })],
    [
      'bulkWrite',
      () => keys().bulkWrite([{ updateOne: { filter: { _id: 'k1' }, update: { $set: { name: 'new' } } } }]),
    ],
    ['save', async () => (await keys().findById('k1'))?.set('name', 'new').save()],
    ['the driver', () => keys().collection.updateOne({ name: 'first' }, { $set: { name: 'new' } })],
    [
      'deleteOne and insertMany',
      async () => [await keys().deleteOne({ _id: 'k1' }), await keys().insertMany([{ ...KEY, name: 'new' }])],
    ],
    [
      'deleteMany and create',
      async () => [await keys().deleteMany({}), await keys().create({ ...KEY, name: 'new' })],
    ],
    [
      'findOneAndDelete and create',
      async () => [
        await keys().findOneAndDelete({ _id: 'k1' }),
        await keys().create({ ...KEY, name: 'new' }),
      ],
    ],
  ])('sees what %s has written', async (_name, write) => {
    await ask();
    await write();
    expect((await ask())?.key.name).toBe('new');
  });

  it('sees a write to any of its sources', async () => {
    await ask();
    await users().updateOne({ _id: 'u1' }, { $set: { outbound_enabled: false } });
    expect((await ask())?.user.outbound_enabled).toBe(false);
  });

  it('does not keep a value that was read during a write', async () => {
    const [read, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = caches.keys('h1', async () => {
      const found = await readKey();
      read.resolve();
      await goOn.promise;
      return found;
    });
    await read.promise;
    await keys().updateOne({ _id: 'k1' }, { $set: { name: 'new' } });
    goOn.resolve();
    expect((await slow)?.key.name).toBe('first');
    expect((await ask())?.key.name).toBe('new');
  });

  it('keeps working after a failed write', async () => {
    await ask();
    await expect(keys().create(KEY)).rejects.toThrow('duplicate');
    expect((await ask())?.key.name).toBe('first');
    await ask();
    expect(reads).toBe(2);
  });

  it('is disabled where other processes write to the same database', async () => {
    const none = createReadCaches(store.models, false);
    await none.keys('h1', readKey);
    await none.keys('h1', readKey);
    expect(reads).toBe(2);
  });
});
