import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '#base/clock.ts';
import { sweep } from '#control-plane/calls/settlement/sweep.ts';
import { startLinkWatch } from '#control-plane/calls/workers/watch-links.ts';
import type { Context } from '#control-plane/platform/context.ts';
import { type ReplicaRegistration, registerReplica } from '#control-plane/platform/store/replica-register.ts';
import { openTestSessions, type TestSessions } from '../settlement/test-sessions.ts';
import { TrackedRegister } from './tracked-register.ts';

/** Time between two looks of the watch, ms. */
const LOOK_MS = 5_000;

/** A replica that cannot hear the others: no Redis, or one that is away. */
interface Replica {
  /** Ids of its workers; a change is in the register with the next heartbeat. */
  readonly workers: Set<string>;
  /** Resolves when it has finished its look. */
  looked(): Promise<void>;
  /** Resolves when its heartbeats are stored too. */
  settled(): Promise<void>;
  /** Stops it as a kill does: its entry in the register stays. */
  kill(): Promise<void>;
  /** Stops it as a deploy does. */
  stop(): Promise<void>;
}

let api: TestSessions;
let replicas: Replica[];
let entries: ReplicaRegistration[];
/** Delay every read of the register and every heartbeat. */
let reads: Promise<void>;
let writes: Promise<void>;

beforeAll(async () => {
  api = await openTestSessions();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.newTenant();
  replicas = [];
  entries = [];
  reads = Promise.resolve();
  writes = Promise.resolve();
});
afterEach(async () => {
  for (const replica of replicas) await replica.kill();
  for (const entry of entries) await entry.close();
  await api.context.models.replicas.deleteMany({});
  await api.context.models.sessions.deleteMany({});
});

/** `aheadMs`: by how much its wall clock is fast. */
async function startReplica(name: string, worker: string, aheadMs = 0): Promise<Replica> {
  const workers = new Set([worker]);
  const { clock: right, models } = api.context;
  const clock: Clock = {
    now: () => right.now(),
    wallTime: () => right.wallTime() + aheadMs,
    after: right.after.bind(right),
    every: right.every.bind(right),
    sleep: right.sleep.bind(right),
  };
  const tracked = new TrackedRegister(models.replicas, { reads: () => reads, writes: () => writes });
  const context: Context = { ...api.context, clock, models: { ...models, replicas: tracked.register } };
  const entry: ReplicaRegistration = await registerReplica(context, {
    id: name,
    isShared: true,
    workers: () => [...workers],
  });
  const loop = startLinkWatch(context, {
    dispatch: { isConnected: (id) => workers.has(id) },
    workers: { settledIds: () => [...workers] },
    sink: api.sink,
  });
  const replica: Replica = {
    workers,
    looked: () => loop.idle(),
    settled: async () => {
      await tracked.settled();
      await loop.idle();
    },
    kill: async () => {
      tracked.stop();
      await loop.close();
    },
    stop: async () => {
      workers.clear();
      await loop.close();
      await entry.close();
      tracked.stop();
    },
  };
  replicas.push(replica);
  entries.push(entry);
  return replica;
}

/** Lets time pass; every replica sends its heartbeats and looks. */
async function pass(seconds: number): Promise<void> {
  for (let ms = 0; ms < seconds * 1_000; ms += LOOK_MS / 5) {
    await api.clock.advance(LOOK_MS / 5);
    await Promise.all(replicas.map((replica) => replica.settled()));
  }
}

/** A call that runs on this worker. */
async function callOn(instanceId: string): Promise<string> {
  api.dispatch.placement = { instanceId, supervisorRun: null, sipTag: instanceId };
  return api.joined();
}

const statusOf = async (id: string) => (await api.read(id)).status;

/** Unix ms. */
const doubtedSince = async (id: string) =>
  (await api.context.models.sessions.findById(id).lean())?.status_at.getTime() ?? Number.NaN;

describe('replicas that cannot hear each other', () => {
  it('doubt no session while each refreshes the list of its workers', async () => {
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      await startReplica(name, `worker-${name}`);
      ids.push(await callOn(`worker-${name}`));
    }
    for (let looks = 0; looks < 12; looks++) {
      await pass(5);
      expect(await Promise.all(ids.map(statusOf))).toEqual(['active', 'active', 'active']);
    }
  });

  it('doubt the sessions of a worker that no replica has listed for 15 s', async () => {
    await startReplica('a', 'worker-a');
    const killed = await startReplica('b', 'worker-b');
    const [safe, lost] = [await callOn('worker-a'), await callOn('worker-b')];
    await pass(10);
    await killed.kill();
    const killedMs = api.clock.wallTime();
    await pass(15);
    expect(await statusOf(lost)).toBe('active');
    await pass(10);
    expect([await statusOf(safe), await statusOf(lost)]).toEqual(['active', 'unknown']);
    // As of when it was last listed, because the session is charged up to that moment.
    expect(await doubtedSince(lost)).toBeLessThanOrEqual(killedMs);
    expect(await doubtedSince(lost)).toBeGreaterThan(killedMs - 2_000);
  });

  it('doubt a session since its worker was last listed, though no replica was there to miss it', async () => {
    const all = [await startReplica('a', 'worker-a'), await startReplica('b', 'worker-b')];
    const id = await callOn('worker-b');
    await pass(10);
    for (const replica of all) await replica.kill();
    const killedMs = api.clock.wallTime();
    await api.clock.advance(50_000);
    await startReplica('c', 'worker-c');
    await pass(25);
    expect(await statusOf(id)).toBe('unknown');
    expect(await doubtedSince(id)).toBeLessThanOrEqual(killedMs);
    expect(await doubtedSince(id)).toBeGreaterThan(killedMs - LOOK_MS);
  });

  it('doubt a session since its worker was last heard, though all were killed before they had missed it', async () => {
    const holder = await startReplica('a', 'worker-a');
    const all = [holder, await startReplica('b', 'worker-b')];
    const id = await callOn('worker-a');
    await pass(10);
    holder.workers.clear();
    const lostMs = api.clock.wallTime();
    await pass(14);
    expect(await statusOf(id)).toBe('active');
    for (const replica of all) await replica.kill();
    await api.clock.advance(50_000);
    await startReplica('c', 'worker-c');
    await pass(25);
    expect(await statusOf(id)).toBe('unknown');
    expect(await doubtedSince(id)).toBeLessThanOrEqual(lostMs);
    expect(await doubtedSince(id)).toBeGreaterThan(lostMs - LOOK_MS);
  });

  it.each(['runs on', 'is killed', 'is stopped'] as const)(
    'doubt no session as of the end of a killed replica whose worker another one had since, which %s',
    async (fate) => {
      const killed = await startReplica('a', 'worker-a');
      const next = await startReplica('b', 'worker-b');
      const id = await callOn('worker-a');
      await pass(10);
      await killed.kill();
      next.workers.add('worker-a');
      await pass(120);
      const lostMs = api.clock.wallTime();
      if (fate === 'runs on') next.workers.delete('worker-a');
      if (fate === 'is killed') await next.kill();
      if (fate === 'is stopped') await next.stop();
      await startReplica('c', 'worker-c');
      await pass(30);
      expect(await statusOf(id)).toBe('unknown');
      expect(await doubtedSince(id)).toBeGreaterThan(lostMs - LOOK_MS);
    },
  );

  it.each([
    ['half a minute slow', -30_000],
    ['half a minute fast', 30_000],
  ])(
    'doubt a session within two looks of when its worker was lost, though the clock of its replica is %s',
    async (_how, aheadMs) => {
      const killed = await startReplica('a', 'worker-a', aheadMs);
      await startReplica('b', 'worker-b');
      const id = await callOn('worker-a');
      await pass(60);
      await killed.kill();
      const lostMs = api.clock.wallTime();
      await pass(25);
      expect(await statusOf(id)).toBe('unknown');
      expect(await doubtedSince(id)).toBeGreaterThanOrEqual(lostMs - 2 * LOOK_MS);
      // If the last heartbeat came just after a look, the next one sees it, and only the one after misses it.
      expect(await doubtedSince(id)).toBeLessThanOrEqual(lostMs + 2 * LOOK_MS);
    },
  );

  it('doubt no session whose worker moves to another replica within 15 s', async () => {
    const moving = await startReplica('a', 'worker-a');
    const next = await startReplica('b', 'worker-b');
    const id = await callOn('worker-a');
    moving.workers.clear();
    await pass(10);
    next.workers.add('worker-a');
    await pass(30);
    expect(await statusOf(id)).toBe('active');
  });

  it('doubt no session because the database hung for longer than that', async () => {
    await startReplica('a', 'worker-a');
    const other = await startReplica('b', 'worker-b');
    const id = await callOn('worker-a');
    await pass(10);
    const [hungReads, hungWrites] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    writes = hungWrites.promise;
    // The last look before the hang finds no new heartbeat.
    for (const _ of [1, 2]) {
      await api.clock.advance(5_000);
      await other.looked();
    }
    reads = hungReads.promise;
    await api.clock.advance(30_000);
    hungReads.resolve();
    await other.looked();
    expect(await statusOf(id)).toBe('active');
    hungWrites.resolve();
  });

  it('end the doubt as soon as a replica is connected to the worker, without a report from it', async () => {
    const holder = await startReplica('a', 'worker-a');
    await startReplica('b', 'worker-b');
    const id = await callOn('worker-a');
    holder.workers.clear();
    await pass(25);
    expect(await statusOf(id)).toBe('unknown');
    holder.workers.add('worker-a');
    await pass(5);
    expect(await statusOf(id)).toBe('active');
  });

  it('settle no session whose worker a replica still lists, however long it was in doubt', async () => {
    const id = await callOn('worker-a');
    await api.sink.workerLost('worker-a');
    const { replicas: register } = api.context.models;
    const list = (seenAt: number) =>
      register.updateOne(
        { _id: 'a' },
        {
          $set: {
            is_shared: true,
            started_at: new Date(0),
            seen_at: new Date(seenAt),
            workers: ['worker-a'],
          },
        },
        { upsert: true },
      );
    await api.clock.advance(200_000);
    await list(api.clock.wallTime() - 10_000);
    await sweep(api.context, { graceMs: 0, startedAtMs: 0 });
    expect(await statusOf(id)).toBe('unknown');
    await list(api.clock.wallTime() - 120_000);
    await sweep(api.context, { graceMs: 0, startedAtMs: 0 });
    expect(await api.read(id)).toMatchObject({ status: 'completed', end_reason: 'heartbeat_timeout' });
  });
});
