import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { putStored } from '#control-plane/calls/recordings/recording-store.ts';
import { enforceRetention } from '#control-plane/operations/privacy/retention.ts';
import { newId } from '#control-plane/platform/context.ts';
import type { TestUser } from '../../test-api.ts';
import { DAY_MS, openTestPrivacy, segmentOf, type TestPrivacy } from './test-privacy.ts';

let api: TestPrivacy;
let user: TestUser;
beforeAll(async () => {
  api = await openTestPrivacy();
});
beforeEach(async () => {
  user = await api.newTenant();
});
afterAll(() => api.close());

describe('retention', () => {
  it('stores everything but deliveries without limit until a team sets limits, field by field', async () => {
    const read = async () => (await api.request('GET', '/v1/agent/privacy', { key: user.key })).body;
    expect(await read()).toEqual({
      recordings_days: null,
      transcripts_days: null,
      flight_logs_days: null,
      deliveries_days: 30,
      test_runs_days: null,
      batch_calls_days: null,
    });
    expect((await api.patch({ recordings_days: 7 })).body).toEqual({
      recordings_days: 7,
      transcripts_days: null,
      flight_logs_days: null,
      deliveries_days: 30,
      test_runs_days: null,
      batch_calls_days: null,
    });
    await api.patch({ recordings_days: null, deliveries_days: null });
    expect(await read()).toMatchObject({ recordings_days: null, deliveries_days: null });
    const other = await api.createUser();
    expect((await api.request('GET', '/v1/agent/privacy', { key: other.key })).body.deliveries_days).toBe(30);
    for (const body of [
      { recordings_days: 0 },
      { recordings_days: 1.5 },
      { recordings_days: 3_651 },
      { other: 1 },
    ]) {
      expect((await api.patch(body)).status).toBe(422);
    }
  });

  it('removes each kind of data by its own setting, and leaves newer data', async () => {
    const [old, fresh] = [await api.call(), await api.call()];
    await api.age(old, 8);
    await api.age(fresh, 6);
    await api.patch({ recordings_days: 7 });
    await enforceRetention(api.context, 'replica');
    expect([(await api.recording(old)).status, (await api.recording(fresh)).status]).toEqual([404, 200]);
    expect((await api.detail(old)).body.items).toHaveLength(1);
    expect((await api.blobs(old)).every((key) => key.includes('flight-log'))).toBe(true);
    await api.patch({ transcripts_days: 7, flight_logs_days: 7 });
    await enforceRetention(api.context, 'replica');
    expect((await api.detail(old)).body).toMatchObject({ status: 'completed', items: [] });
    expect(await api.blobs(old)).toEqual([]);
    expect(await api.context.models.sessionAttachments.countDocuments({ session_id: old })).toBe(0);
    expect((await api.detail(fresh)).body.items).toHaveLength(1);
  });

  it('resumes where it stopped, and also removes what a shorter setting adds', async () => {
    const id = await api.call();
    await api.age(id, 5);
    await api.patch({ recordings_days: 7 });
    await enforceRetention(api.context, 'replica');
    expect((await api.recording(id)).status).toBe(200);
    await api.patch({ recordings_days: 3 });
    await enforceRetention(api.context, 'replica');
    expect((await api.recording(id)).status).toBe(404);
    const late = (await api.stored(id))!;
    await putStored(api.context, late, segmentOf(1, 9), Buffer.alloc(4));
    await enforceRetention(api.context, 'replica');
    expect(await api.context.blobs.list(`sessions/${id}/recording/`)).toHaveLength(1);
  });

  it('does not apply one team’s settings to another', async () => {
    const id = await api.call();
    await api.age(id, 100);
    const other = await api.createUser();
    await api.patch(
      { recordings_days: 1, transcripts_days: 1, flight_logs_days: 1, deliveries_days: 1 },
      other.key,
    );
    await enforceRetention(api.context, 'replica');
    expect((await api.recording(id)).status).toBe(200);
  });

  it('removes finished deliveries after 30 days or the team’s setting; pending ones stay', async () => {
    const id = await api.call();
    const { deliveries } = api.context.models;
    const finish = (days: number) =>
      deliveries.updateMany(
        { session_id: id },
        { $set: { state: 'delivered', finished_at: new Date(api.clock.wallTime() - days * DAY_MS) } },
      );
    await enforceRetention(api.context, 'replica');
    expect(await deliveries.countDocuments({ session_id: id })).toBe(1);
    await finish(29);
    await enforceRetention(api.context, 'replica');
    expect(await deliveries.countDocuments({ session_id: id })).toBe(1);
    await api.patch({ deliveries_days: null });
    await finish(400);
    await enforceRetention(api.context, 'replica');
    expect(await deliveries.countDocuments({ session_id: id })).toBe(1);
    await api.patch({ deliveries_days: 30 });
    await enforceRetention(api.context, 'replica');
    expect(await deliveries.countDocuments({ session_id: id })).toBe(0);
  });
});

describe('the retention of agent tests', () => {
  it('removes finished batches with their runs; running and newer ones and other teams’ stay', async () => {
    const post = async (url: string, key: string, body: object) =>
      (await api.request('POST', url, { key, body })).body;
    const batchOf = async ({ key }: TestUser, agent: string): Promise<string> => {
      const test = {
        name: 'Greets',
        test_type: 'next_reply',
        conversation: [{ role: 'user', text: 'Hi' }],
        expectation: 'A greeting',
      };
      const { test_id } = await post('/v1/agent/tests', key, test);
      return (
        await post(`/v1/agent/agents/${agent}/tests/run`, key, { test_ids: [test_id], repeat_count: 2 })
      ).batch_id;
    };
    const { testBatches, testRuns } = api.context.models;
    const finish = (id: string, days: number) =>
      testBatches.updateOne(
        { _id: id },
        { $set: { status: 'completed', finished_at: new Date(api.clock.wallTime() - days * DAY_MS) } },
      );
    const other = await api.createUser();
    const [old, newer, running] = [
      await batchOf(user, api.agentId()),
      await batchOf(user, api.agentId()),
      await batchOf(user, api.agentId()),
    ];
    const others = await batchOf(other, await api.publishAgent(other));
    for (const id of [old, others]) await finish(id, 8);
    await finish(newer, 6);
    const left = async () =>
      (await testBatches.find({ _id: { $in: [old, newer, running, others] } }, { _id: 1 }).lean())
        .map(({ _id }) => _id)
        .sort();
    await enforceRetention(api.context, 'replica');
    expect(await left()).toHaveLength(4);
    await api.patch({ test_runs_days: 7 });
    await enforceRetention(api.context, 'replica');
    expect(await left()).toEqual([newer, running, others].sort());
    expect(await testRuns.countDocuments({ batch_id: old })).toBe(0);
    expect(await testRuns.countDocuments({ batch_id: newer })).toBe(2);
    expect(
      (await api.request('GET', `/v1/agent/test-runs?batch_id=${old}`, { key: user.key })).body.test_runs,
    ).toEqual([]);
    expect(
      (await api.request('GET', `/v1/agent/agents/${api.agentId()}/test-batches/${old}`, { key: user.key }))
        .status,
    ).toBe(404);
  });
});

describe('the retention of many sessions', () => {
  it('store 12: resumes where it was cut off, and examines each session once', async () => {
    const id = await api.call();
    const { _id: _, ...session } = (await api.stored(id))!;
    const at = (index: number) => new Date(api.clock.wallTime() - 60 * DAY_MS + Math.floor(index / 3));
    const old = Array.from({ length: 250 }, (_, index) => ({
      ...session,
      _id: `old-${String(index).padStart(3, '0')}`,
      created_at: at(index),
      ended_at: at(index),
    }));
    await api.context.models.sessions.collection.insertMany(old as never[]);
    await api.patch({ flight_logs_days: 30 });
    const looked: string[] = [];
    let broken = 170;
    const deletePrefix = async (prefix: string): Promise<number> => {
      broken -= 1;
      if (broken === 0) throw new Error('the store of blobs is away');
      looked.push(prefix);
      return 0;
    };
    const context = { ...api.context, blobs: { ...api.context.blobs, deletePrefix } };
    await expect(enforceRetention(context, 'replica')).rejects.toThrow('away');
    await enforceRetention(context, 'replica');
    // It may examine the interrupted page again, and sessions of the same millisecond as the end of the page
    // before.
    expect(new Set(looked).size).toBe(250);
    expect(looked.length).toBeLessThan(250 + 100 + 3);
    expect(looked.lastIndexOf(looked[0] ?? '')).toBe(0);
    await enforceRetention(context, 'replica');
    expect(looked.length).toBeLessThan(250 + 100 + 3);
  });
});

describe('two replicas', () => {
  /** A store of blobs whose deletions wait for `answer`. */
  function slowBlobs() {
    const deleted: string[] = [];
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const deletePrefix = async (prefix: string) => {
      deleted.push(prefix);
      asked.resolve();
      await answer.promise;
      return 1;
    };
    const context = { ...api.context, blobs: { ...api.context.blobs, deletePrefix } };
    return { context, deleted, asked: asked.promise, answer: answer.resolve };
  }

  it('never delete for the same team at once', async () => {
    await api.age(await api.call(), 8);
    await api.patch({ recordings_days: 7 });
    const { context, deleted, asked, answer } = slowBlobs();
    const first = enforceRetention(context, 'one');
    await asked;
    await enforceRetention(context, 'two');
    answer();
    await first;
    await enforceRetention(context, 'two');
    expect(deleted).toHaveLength(1);
  });

  it('go on at once where the other one failed, and a team with an error holds up no other', async () => {
    const id = await api.call();
    await api.age(id, 8);
    await api.patch({ recordings_days: 7 });
    await api.newTenant();
    const others = await api.call();
    await api.age(others, 8);
    await api.patch({ recordings_days: 7 });
    const deletePrefix = async (prefix: string) => {
      if (prefix.includes(id)) throw new Error('refused');
      return api.context.blobs.deletePrefix(prefix);
    };
    const context = { ...api.context, blobs: { ...api.context.blobs, deletePrefix } };
    await expect(enforceRetention(context, 'one')).rejects.toThrow('refused');
    expect(await api.blobs(others)).toHaveLength(1);
    await enforceRetention(api.context, 'two');
    expect(await api.blobs(id)).toHaveLength(1);
  });

  it('leave a team to the one that has taken it over', async () => {
    // More than are deleted at once.
    const session = (await api.stored(await api.call()))!;
    const ended_at = new Date(api.clock.wallTime() - 8 * DAY_MS);
    const times = { created_at: ended_at, ended_at };
    const old = Array.from({ length: 60 }, (_, index) => ({ ...session, _id: `old-${index}`, ...times }));
    await api.context.models.sessions.collection.insertMany(old as never[]);
    await api.patch({ recordings_days: 7 });
    const { context, deleted, asked, answer } = slowBlobs();
    const slow = enforceRetention(context, 'slow');
    await asked;
    const before = deleted.length;
    await api.clock.advance(5 * 60_000);
    await enforceRetention(api.context, 'other');
    await api.context.models.privacy.updateMany(
      {},
      { $set: { lease_by: 'other', lease_until: new Date(api.clock.wallTime() + 60_000) } },
    );
    answer();
    await slow;
    expect([before, deleted.length]).toEqual([50, 50]);
  });

  it('take a team whose settings were stored before there were leases', async () => {
    const id = await api.call();
    await api.age(id, 8);
    await api.patch({ recordings_days: 7 });
    await api.context.models.privacy.updateMany({}, { $unset: { lease_by: 1, lease_until: 1 } });
    await enforceRetention(api.context, 'one');
    expect(await api.blobs(id)).toHaveLength(1);
  });

  it('take over a team whose replica died while it deleted, five minutes later', async () => {
    await api.age(await api.call(), 8);
    await api.patch({ recordings_days: 7 });
    const { context, deleted, asked } = slowBlobs();
    void enforceRetention(context, 'dies');
    await asked;
    const { deleted: again, answer, context: other } = slowBlobs();
    answer();
    await api.clock.advance(5 * 60_000 - 1);
    await enforceRetention(other, 'two');
    expect(again).toEqual([]);
    await api.clock.advance(1);
    await enforceRetention(other, 'two');
    expect(again).toEqual(deleted);
  });
});

describe('the retention of batch calls', () => {
  it('removes finished ones with their rows; running and newer ones and other teams’ stay', async () => {
    const { batchCalls, batchRows } = api.context.models;
    const batchOf = async ({ teamId }: TestUser, finishedDaysAgo: number | null): Promise<string> => {
      const id = newId();
      const at = new Date(api.clock.wallTime() - (finishedDaysAgo ?? 0) * DAY_MS);
      const batch = {
        _id: id,
        team_id: teamId,
        status: 'completed',
        created_at: at,
        finished_at: finishedDaysAgo === null ? null : at,
      };
      await batchCalls.collection.insertOne(batch as never);
      await batchRows.collection.insertOne({
        _id: newId(),
        team_id: teamId,
        batch_id: id,
        to_number: '+14155551000',
      } as never);
      return id;
    };
    const [old, newer, running, others] = [
      await batchOf(user, 8),
      await batchOf(user, 6),
      await batchOf(user, null),
      await batchOf(await api.createUser(), 8),
    ];
    await api.patch({ batch_calls_days: 7 });
    await enforceRetention(api.context, 'replica');
    const left = await batchCalls.find({ _id: { $in: [old, newer, running, others] } }, { _id: 1 }).lean();
    expect(left.map(({ _id }) => _id).sort()).toEqual([newer, running, others].sort());
    expect([
      await batchRows.countDocuments({ batch_id: old }),
      await batchRows.countDocuments({ batch_id: newer }),
    ]).toEqual([0, 1]);
  });
});
