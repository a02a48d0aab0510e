import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startDeathWatch } from '#control-plane/calls/workers/watch-deaths.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import type { Context } from '#control-plane/platform/context.ts';
import { type ReplicaRegistration, registerReplica } from '#control-plane/platform/store/replica-register.ts';
import { SignallingReports } from '#control-plane/platform/store/signalling-reports.ts';
import { openTestSessions, type TestSessions } from '../settlement/test-sessions.ts';
import { TrackedRegister } from './tracked-register.ts';

const LOST = 'worker-b';
const SAFE = 'worker-a';

/** A replica of the control plane, with the workers that are connected to it. */
interface Replica {
  readonly workers: Set<string>;
  readonly reports: SignallingReports;
  /** Lists its workers for the others at once. */
  refresh(): Promise<void>;
  settled(): Promise<void>;
  kill(): Promise<void>;
}

let api: TestSessions;
let replicas: Replica[];
let entries: ReplicaRegistration[];
/** Sessions handed to another worker, by the replica that did it. */
let deaths: string[];
let seq: number;
let answeredMs: number;
/** Happens between the conclusion that the worker is dead and what is done about it. */
let meanwhile: () => Promise<void>;

beforeAll(async () => {
  api = await openTestSessions();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.newTenant();
  [replicas, entries, deaths, seq] = [[], [], [], 0];
  meanwhile = async () => undefined;
});
afterEach(async () => {
  for (const replica of replicas) await replica.kill();
  for (const entry of entries) await entry.close();
  await api.context.models.replicas.deleteMany({});
  await api.context.models.sessions.deleteMany({});
  // What they have claimed is free for the next test.
  await api.clock.advance(120_000);
});

async function startReplica(name: string, worker: string): Promise<Replica> {
  const workers = new Set([worker]);
  const reports = new SignallingReports(api.clock);
  const tracked = new TrackedRegister(api.context.models.replicas);
  const context: Context = {
    ...api.context,
    signallingReports: reports,
    models: { ...api.context.models, replicas: tracked.register },
  };
  const entry = await registerReplica(context, {
    id: name,
    isShared: true,
    workers: () => [...workers],
    signalling: () => reports.current(),
  });
  entries.push(entry);
  const loop: BackgroundLoop = startDeathWatch(context, {
    hasOthers: true,
    workers: { silences: () => new Map([...workers].map((id) => [id, 0])) },
    dispatch: { isConnected: (id) => workers.has(id), hasWorker: () => workers.size > 0 },
    sink: {
      workerDead: async (...about) => {
        deaths.push(name);
        await meanwhile();
        await api.sink.workerDead(...about);
      },
    },
  });
  const replica: Replica = {
    workers,
    reports,
    refresh: entry.refresh,
    settled: async () => {
      await tracked.settled();
      await loop.idle();
    },
    kill: async () => {
      tracked.stop();
      await loop.close();
    },
  };
  replicas.push(replica);
  return replica;
}

/** Lets time pass; signalling reports to one replica whether it hears the worker. */
async function pass(seconds: number, { to, hears }: { to: Replica; hears: boolean }): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await api.clock.advance(1_000);
    const nowMs = api.clock.now();
    if (hears) answeredMs = nowMs;
    seq += 1;
    const silent = hears ? [] : [{ worker: LOST, for_ms: nowMs - answeredMs }];
    to.reports.take({ signalling: 's', seq, connected: hears ? [LOST] : [], silent });
    await Promise.all(replicas.map((replica) => replica.settled()));
  }
}

async function callOn(instanceId: string): Promise<string> {
  api.dispatch.placement = { instanceId, supervisorRun: null, sipTag: instanceId };
  const id = await api.joined();
  api.dispatch.placement = { instanceId: SAFE, supervisorRun: null, sipTag: SAFE };
  return id;
}

const epochOf = async (id: string) => (await api.context.models.sessions.findById(id).lean())?.epoch;

describe('replicas that watch for dead workers', () => {
  it('hand the calls of a worker whose machine is lost, control plane and all, to another one, once', async () => {
    const [first, second, lost] = [
      await startReplica('a', SAFE),
      await startReplica('c', 'worker-c'),
      await startReplica('b', LOST),
    ];
    const id = await callOn(LOST);
    await pass(6, { to: second, hears: true });
    await lost.kill();
    const lostMs = api.clock.wallTime();
    await pass(9, { to: second, hears: false });
    expect(await epochOf(id)).toBe(2);
    // Signalling goes on to report the silence for a minute.
    await pass(50, { to: second, hears: false });
    expect(deaths).toHaveLength(1);
    const session = await api.context.models.sessions.findById(id).lean();
    expect(session?.worker?.instance_id).toBe(SAFE);
    // The caller was served until the loss, and is charged up to then.
    expect(Math.abs((session?.takeovers?.[0]?.lost_at.getTime() ?? 0) - lostMs)).toBeLessThanOrEqual(2_000);
    expect(api.dispatch.abandoned).toEqual([{ instanceId: LOST, key: { sessionId: id, epoch: 1 } }]);
    expect(first.workers.size).toBe(1);
  });

  it('leave its calls to a worker that is back at another one when they conclude that it is dead', async () => {
    const [first, holder] = [await startReplica('a', SAFE), await startReplica('b', LOST)];
    const id = await callOn(LOST);
    await pass(6, { to: first, hears: true });
    holder.workers.clear();
    meanwhile = async () => {
      holder.workers.add(LOST);
      await holder.refresh();
    };
    await pass(9, { to: first, hears: false });
    expect({ epoch: await epochOf(id), deaths: deaths.length }).toEqual({ epoch: 1, deaths: 1 });
    // Its next death is noticed, too.
    meanwhile = async () => undefined;
    holder.workers.clear();
    await pass(9, { to: first, hears: false });
    expect({ epoch: await epochOf(id), deaths: deaths.length }).toEqual({ epoch: 2, deaths: 2 });
  });

  it('leave a call alone whose worker has only lost its link', async () => {
    const [, holder] = [await startReplica('a', SAFE), await startReplica('b', LOST)];
    const id = await callOn(LOST);
    await pass(6, { to: holder, hears: true });
    holder.workers.clear();
    await pass(60, { to: holder, hears: true });
    expect({ epoch: await epochOf(id), deaths }).toEqual({ epoch: 1, deaths: [] });
  });

  it('leave a call alone whose worker only signalling has lost', async () => {
    const [, holder] = [await startReplica('a', SAFE), await startReplica('b', LOST)];
    const id = await callOn(LOST);
    await pass(6, { to: holder, hears: true });
    await pass(60, { to: holder, hears: false });
    expect({ epoch: await epochOf(id), deaths }).toEqual({ epoch: 1, deaths: [] });
  });
});
