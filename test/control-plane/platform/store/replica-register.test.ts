import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { type ReplicaRegistration, registerReplica } from '#control-plane/platform/store/replica-register.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { openTestStore, type TestStore } from '../../test-store.ts';

const logger = createLogger({ level: 'silent', name: 'test' });

let store: TestStore;
let clock: ManualClock;
let enrolled: ReplicaRegistration[];
/** Writes of replicas that the store has not yet completed. */
let writes: Promise<unknown>[];

beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());
beforeEach(() => {
  clock = new ManualClock();
  enrolled = [];
  writes = [];
});
afterEach(async () => {
  for (const replica of enrolled) await replica.close();
  await Promise.all(writes);
  await store.models.replicas.deleteMany({});
});

/**
 * Starts a replica; while it waits, time passes for all replicas. Returns its place, or the reason of its
 * refusal.
 */
async function start(id: string, isShared: boolean): Promise<ReplicaRegistration | string> {
  const { replicas } = store.models;
  const sleep = async (ms: number) => {
    await clock.advance(ms);
    await Promise.all(writes.splice(0));
  };
  const watched = {
    updateOne: (...args: Parameters<typeof replicas.updateOne>) => noted(replicas.updateOne(...args).exec()),
    collection: {
      updateOne: (...args: Parameters<typeof replicas.collection.updateOne>) =>
        noted(replicas.collection.updateOne(...args)),
    },
    find: replicas.find.bind(replicas),
    deleteOne: replicas.deleteOne.bind(replicas),
  } as unknown as typeof replicas;
  const waiting: Clock = {
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    every: clock.every.bind(clock),
    after: clock.after.bind(clock),
    sleep,
  };
  try {
    const place = await registerReplica(
      { models: { replicas: watched }, clock: waiting, logger },
      { id, isShared, workers: () => [] },
    );
    enrolled.push(place);
    return place;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
function noted<Result>(writing: Promise<Result>): Promise<Result> {
  writes.push(writing);
  return writing;
}
const none = () => ({ lean: async () => [] });
const ids = async () => (await store.models.replicas.find({}).lean()).map(({ _id }) => _id).sort();

describe('the registry of replicas (REDIS_URL)', () => {
  it('lets a replica without Redis run alone; a second one gets the setting to fix, and leaves no record', async () => {
    expect(await start('a', false)).not.toBeTypeOf('string');
    expect(await start('b', false)).toBe(
      'REDIS_URL: another control plane works on this database (a): set the same REDIS_URL for every replica',
    );
    expect(await start('c', true)).toContain('a control plane without it works on this database (a)');
    expect(await ids()).toEqual(['a']);
  });

  it('lets any number of replicas that share a Redis run together, and rejects one that does not', async () => {
    for (const id of ['a', 'b', 'c']) expect(await start(id, true)).not.toBeTypeOf('string');
    expect(await start('d', false)).toContain('set the same REDIS_URL');
    expect(await ids()).toEqual(['a', 'b', 'c']);
  });

  it('answers the pings of its workers once their list is stored, and not if the database refuses it', async () => {
    const answered: string[] = [];
    let ping = 'first';
    const takePings = () => {
      const taken = ping;
      return () => answered.push(taken);
    };
    let storing = Promise.withResolvers<void>();
    const replicas = {
      ...store.models.replicas,
      updateOne: () => storing.promise,
      collection: { updateOne: () => storing.promise },
      find: none,
      deleteOne: none,
    };
    storing.resolve();
    await registerReplica(
      { models: { replicas: replicas as unknown as typeof store.models.replicas }, clock, logger },
      { id: 'a', isShared: true, workers: () => ['w1'], takePings },
    );
    expect(answered).toEqual(['first']);
    ping = 'second';
    storing = Promise.withResolvers();
    await clock.advance(2_000);
    expect(answered).toEqual(['first']);
    storing.reject(new Error('no primary'));
    await clock.advance(0);
    expect(answered).toEqual(['first']);
    ping = 'third';
    storing = Promise.withResolvers();
    await clock.advance(2_000);
    storing.resolve();
    await clock.advance(0);
    expect(answered).toEqual(['first', 'third']);
  });

  it('clears the list of workers of a replica that starts again without Redis', async () => {
    await store.models.replicas.create({
      _id: 'a',
      is_shared: true,
      started_at: now(-1_000),
      seen_at: now(-1_000),
      workers: ['worker-1'],
    });
    expect(await start('a', false)).not.toBeTypeOf('string');
    expect(await store.models.replicas.distinct('workers')).toEqual([]);
  });

  it('ignores killed and stopped replicas', async () => {
    await store.models.replicas.create({
      _id: 'killed',
      is_shared: false,
      started_at: now(-1_000),
      seen_at: now(-1_000),
    });
    const before = clock.now();
    expect(await start('a', false)).not.toBeTypeOf('string');
    expect(clock.now() - before).toBeGreaterThan(5_000);
    await enrolled.pop()?.close();
    await store.models.replicas.deleteOne({ _id: 'killed' });
    const again = clock.now();
    expect(await start('b', false)).not.toBeTypeOf('string');
    expect(clock.now() - again).toBeLessThan(2_000);
  });

  it('keeps when a replica last listed each worker: five minutes while it runs, an hour once it has stopped', async () => {
    let workers: readonly string[] = ['stays', 'leaves'];
    const replica = await registerReplica(
      { models: store.models, clock, logger },
      { id: 'a', isShared: true, workers: () => workers },
    );
    const entry = () => store.models.replicas.findById('a').lean();
    const pass = async (ms: number) => {
      await clock.advance(ms);
      await replica.refresh();
    };
    const leftAt = now();
    workers = ['stays'];
    await pass(299_000);
    expect(await entry()).toMatchObject({ workers: ['stays'], left: [{ worker: 'leaves', at: leftAt }] });
    await pass(2_000);
    expect((await entry())?.left).toEqual([]);
    const listedAt = (await entry())?.seen_at;
    await replica.close();
    expect(await entry()).toMatchObject({ workers: [], left: [{ worker: 'stays', at: listedAt }] });
  });

  it('names a worker that left while the database was away, for five minutes after the database is back', async () => {
    const { replicas } = store.models;
    let isAway = false;
    const updateOne = (...args: Parameters<typeof replicas.collection.updateOne>) =>
      isAway ? Promise.reject(new Error('no primary')) : replicas.collection.updateOne(...args);
    const collection = Object.assign(Object.create(replicas.collection), { updateOne });
    const register = Object.assign(Object.create(replicas), { collection }) as typeof replicas;
    let workers: readonly string[] = ['leaves'];
    const replica = await registerReplica(
      { models: { replicas: register }, clock, logger },
      { id: 'a', isShared: true, workers: () => workers },
    );
    enrolled.push(replica);
    const left = async () => (await replicas.findById('a').lean())?.left;
    const leftAt = now();
    workers = [];
    isAway = true;
    await clock.advance(600_000);
    isAway = false;
    await replica.refresh();
    expect(await left()).toEqual([{ worker: 'leaves', at: leftAt }]);
    await clock.advance(299_000);
    await replica.refresh();
    expect(await left()).toEqual([{ worker: 'leaves', at: leftAt }]);
    await clock.advance(2_000);
    await replica.refresh();
    expect(await left()).toEqual([]);
  });

  it('does not make a replica that restarts after a kill wait for itself', async () => {
    await store.models.replicas.create({
      _id: 'a',
      is_shared: false,
      started_at: now(-1_000),
      seen_at: now(),
    });
    const before = clock.now();
    expect(await start('a', false)).not.toBeTypeOf('string');
    expect(clock.now() - before).toBeLessThan(2_000);
  });

  it('has an index for every query', async () => {
    const plan = await store.models.replicas.find({ seen_at: { $gt: now() } }).explain('queryPlanner');
    expect(JSON.stringify(plan)).not.toContain('COLLSCAN');
  });
});

function now(ms = 0): Date {
  return new Date(clock.wallTime() + ms);
}
