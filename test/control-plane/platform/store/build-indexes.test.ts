import { randomUUID } from 'node:crypto';
import type { Connection } from 'mongoose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { startIndexBuilds } from '#control-plane/platform/background/index-builds.ts';
import { buildIndexes } from '#control-plane/platform/store/build-indexes.ts';
import { defineModels, type Models } from '#control-plane/platform/store/models.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { type MongodbServer, startMongodbServer } from '../../../fakes/mongodb-server.ts';
import { openTestStore, type TestStore } from '../../test-store.ts';
import { onEveryDatabase } from './on-every-database.ts';
import type { TestDatabase } from './open-test-database.ts';

const PATIENCE = { timeout: 30_000 };
const OPEN_WORK = '{"due":1,"status":1,"expires_at":1}';
const logger = createLogger({ level: 'silent', name: 'test' });

type Indexed = Models[keyof Models];

async function indexesOf({ collection }: Indexed) {
  // A collection without any does not exist yet.
  return (await collection.indexes().catch(() => [])).map(
    ({ name, key, unique, sparse, partialFilterExpression }) => ({
      name: String(name),
      key: JSON.stringify(key),
      ...(unique && { unique }),
      ...(sparse && { sparse }),
      ...(partialFilterExpression && { partialFilterExpression }),
    }),
  );
}

onEveryDatabase('the indexes of the store', (database: () => TestDatabase) => {
  let connection: Connection;
  let models: Models;
  beforeEach(() => {
    connection = database().connection.useDb(`parley_indexes_${randomUUID().slice(0, 8)}`);
    models = defineModels(connection);
  });
  afterEach(() => connection.dropDatabase());

  const of = async (model: Indexed, key: string) =>
    (await indexesOf(model)).filter((index) => index.key === key);
  const all = () => Promise.all(Object.values(models).map((model: Indexed) => indexesOf(model)));

  it('store 13: one whose options have changed is replaced, and the next start changes nothing', async () => {
    await models.sessions.collection.createIndex({ due: 1, status: 1, expires_at: 1 }, { sparse: true });
    await buildIndexes(models);
    const [index, ...others] = await of(models.sessions, OPEN_WORK);
    expect([index?.sparse, others]).toEqual([undefined, []]);
    const before = await all();
    await buildIndexes(models);
    expect(await all()).toEqual(before);
  });

  it('those before one that the data of its collection forbids are built', async () => {
    const posted = (seq: number) => ({ _id: `u-1:${seq}`, user_id: 'u-1', key: 'twice', seq });
    await models.ledger.collection.insertMany([posted(1), posted(2)] as never[]);
    await expect(buildIndexes(models)).rejects.toThrow('duplicate key');
    const keys = (await indexesOf(models.ledger)).map(({ key }) => key);
    expect(keys).toContain('{"user_id":1,"seq":-1}');
    expect(keys).not.toContain('{"user_id":1,"key":1}');
  });

  it('one that is changed again and again exists once', async () => {
    const { schema } = models.deliveries;
    const define = (partialFilterExpression: object) =>
      vi
        .spyOn(schema, 'indexes')
        .mockReturnValue([[{ url: 1 }, { unique: true, partialFilterExpression }]] as never);
    for (const state of ['a', 'b', 'c']) {
      define({ state });
      await buildIndexes(models);
      const found = await of(models.deliveries, '{"url":1}');
      expect(found.map((index) => index.partialFilterExpression)).toEqual([{ state }]);
    }
    vi.mocked(schema.indexes).mockRestore();
  });

  it('one that only another one can make room for is replaced, on three replicas at once', async () => {
    const { idempotencyKeys } = models;
    const [[key, options]] = idempotencyKeys.schema
      .indexes()
      .filter(([, { expireAfterSeconds }]) => expireAfterSeconds !== undefined) as [[object, object]];
    await idempotencyKeys.collection.createIndex(key as never, { expireAfterSeconds: 7 });
    await Promise.all([buildIndexes(models), buildIndexes(models), buildIndexes(models)]);
    const found = (await idempotencyKeys.collection.indexes()).filter(
      (index) => JSON.stringify(index.key) === JSON.stringify(key),
    );
    expect(found.map(({ expireAfterSeconds }) => ({ expireAfterSeconds }))).toEqual([
      { expireAfterSeconds: (options as { expireAfterSeconds: number }).expireAfterSeconds },
    ]);
  });

  it('one that exists under another name is left as it is', async () => {
    const key = { team_id: 1, created_at: -1, _id: -1 } as const;
    await models.sessions.collection.createIndex(key, { name: 'older_name' });
    await buildIndexes(models);
    expect((await of(models.sessions, JSON.stringify(key))).map(({ name }) => name)).toEqual(['older_name']);
  });

  it('one that guards a rule keeps guarding while it is replaced', async () => {
    const { deliveries } = models;
    const key = { session_id: 1, url: 1 };
    const outdated = { unique: true, partialFilterExpression: { state: 'queued' } };
    await deliveries.collection.createIndex(key as never, outdated as never);
    const filters = async () =>
      (await of(deliveries, JSON.stringify(key))).map((index) => index.partialFilterExpression);
    const drop = deliveries.collection.dropIndex.bind(deliveries.collection);
    const atDrop: unknown[] = [];
    vi.spyOn(deliveries.collection, 'dropIndex').mockImplementation(async (name) => {
      atDrop.push(await filters());
      return drop(name);
    });
    await buildIndexes(models, 'unique');
    expect(atDrop).toEqual([[{ state: 'queued' }, { state: 'pending' }]]);
    expect(await filters()).toEqual([{ state: 'pending' }]);
  });

  it('those that are replaced are dropped, on two replicas at once', async () => {
    const { batchRows } = models;
    const outdated = [
      { batch_id: 1, dialled_at: 1 },
      { batch_id: 1, opted_out: 1 },
      { session_id: 1 },
    ] as const;
    for (const key of outdated) await batchRows.collection.createIndex(key as never);
    await models.sessions.collection.createIndex({ due: 1, status: 1, expires_at: 1 }, { sparse: true });
    await models.sessions.collection.createIndex({ 'worker.instance_id': 1, status: 1 });
    await Promise.all([buildIndexes(models), buildIndexes(models), buildIndexes(models)]);
    const names = (await indexesOf(batchRows)).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['dialled_rows', 'opted_out_rows', 'rows_in_call']));
    expect(names).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(batch_id_1_(dialled_at|opted_out)_1|session_id_1)$/)]),
    );
    expect(await of(models.sessions, OPEN_WORK)).toHaveLength(1);
    expect(await of(models.sessions, '{"worker.instance_id":1,"status":1}')).toEqual([]);
  });
});

describe('a large collection in MongoDB', () => {
  let mongodb: MongodbServer;
  let store: TestStore;
  beforeEach(async () => {
    mongodb = await startMongodbServer();
    store = await openTestStore(mongodb.url);
  });
  afterEach(async () => {
    await store.close();
    await mongodb.close();
  });

  it('gets its new indexes beside the running traffic', PATIENCE, async () => {
    const { sessions, keys } = store.models;
    await sessions.collection.dropIndex('due_1_status_1_expires_at_1');
    await keys.collection.dropIndex('hash_1');
    const names = async (model: Indexed) => (await indexesOf(model)).map(({ name }) => name);
    let building = 0;
    // Its answer waits, as that of a build that takes long.
    mongodb.faultOf = ({ name, collection }) => {
      if (name !== 'createIndexes' || collection !== 'sessions') return null;
      building += 1;
      return { is: 'held' };
    };
    // What the start waits for.
    await buildIndexes(store.models, 'unique');
    expect([building, await names(keys)]).toEqual([0, expect.arrayContaining(['hash_1'])]);
    const builds = startIndexBuilds({ models: store.models, clock: systemClock, logger });
    await expect.poll(() => building, PATIENCE).toBe(1);
    expect(await sessions.countDocuments({})).toBe(0);
    mongodb.faultOf = () => null;
    mongodb.thaw();
    await builds.idle();
    expect(await names(sessions)).toContain('due_1_status_1_expires_at_1');
    await builds.close();
  });

  it('gets an index whose build has failed in the next minute', PATIENCE, async () => {
    const { sessions } = store.models;
    await sessions.collection.dropIndex('due_1_status_1_expires_at_1');
    const clock = new ManualClock();
    mongodb.faultOf = ({ name }) => (name === 'createIndexes' ? { is: 'refused', code: 11_600 } : null);
    const builds = startIndexBuilds({ models: store.models, clock, logger });
    await builds.idle();
    mongodb.faultOf = () => null;
    await clock.advance(60_000);
    await builds.idle();
    expect((await indexesOf(sessions)).map(({ name }) => name)).toContain('due_1_status_1_expires_at_1');
    expect(clock.pendingTimers).toBe(0);
  });
});
