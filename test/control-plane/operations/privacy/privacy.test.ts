import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { putFlightLog, putSegment } from '#control-plane/calls/recordings/recording-store.ts';
import { enforceRetention } from '#control-plane/operations/privacy/retention.ts';
import { newId } from '#control-plane/platform/context.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestCalls({ SUPERVISOR_RUN: 'run-1' });
});
afterAll(() => api.close());
beforeEach(async () => {
  user = await api.createUser();
  agentId = await api.publishAgent(user, { webhooks: { post_call: [{ url: 'https://hook.example.com/' }] } });
});

const said = (content: string) => ({
  type: 'message' as const,
  role: 'user' as const,
  content,
  turn_id: 1,
  id: content,
  created_at: api.at(),
});

/** A call with all kinds of erasable data: transcript, recording, flight log, plan, webhook. */
async function call(endUserId = 'u-1', isOver = true): Promise<string> {
  const body = { agent_id: agentId, end_user_id: endUserId, name: 'planted', metadata: { note: 'planted' } };
  const id: string = (await api.request('POST', '/v1/agent/sessions', { key: user.key, body })).body
    .session_id;
  await api.report(id, { type: 'joined', at: api.at() });
  await api.report(id, { type: 'items', items: [said('my secret')] });
  const session = (await stored(id))!;
  const segment = {
    role: 'user',
    epoch: session.epoch,
    index: 0,
    startMs: 0,
    rateHz: 8_000,
    samples: 2,
  } as const;
  await putSegment(api.context, session, segment, Buffer.alloc(4));
  await putFlightLog(api.context, session, { epoch: session.epoch, index: 0 }, Buffer.from('log'));
  if (isOver) await api.report(id, { type: 'ended', at: api.at(), end_reason: 'agent_hangup' });
  return id;
}

const stored = (id: string) => api.context.models.sessions.findById(id).lean();
const detail = (id: string) => api.request('GET', `/v1/agent/sessions/${id}`, { key: user.key });
const recording = (id: string) => api.request('GET', `/v1/agent/sessions/${id}/recording`, { key: user.key });
const blobs = (id: string) => api.context.blobs.list(`sessions/${id}/`);
const patch = (body: object, key = user.key) => api.request('PATCH', '/v1/agent/privacy', { key, body });
const erase = (end_user_id: string, key = user.key) =>
  api.request('POST', '/v1/agent/erasures', { key, body: { end_user_id } });

/** Backdates the end of a session by days, without firing the clock's timers. */
async function age(id: string, days: number): Promise<void> {
  const at = new Date(api.clock.wallTime() - days * DAY_MS);
  await api.context.models.sessions.updateOne({ _id: id }, { $set: { ended_at: at } });
}

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
    expect((await patch({ recordings_days: 7 })).body).toEqual({
      recordings_days: 7,
      transcripts_days: null,
      flight_logs_days: null,
      deliveries_days: 30,
      test_runs_days: null,
      batch_calls_days: null,
    });
    await patch({ recordings_days: null, deliveries_days: null });
    expect(await read()).toMatchObject({ recordings_days: null, deliveries_days: null });
    const stranger = await api.createUser();
    expect((await api.request('GET', '/v1/agent/privacy', { key: stranger.key })).body.deliveries_days).toBe(
      30,
    );
    for (const body of [
      { recordings_days: 0 },
      { recordings_days: 1.5 },
      { recordings_days: 3_651 },
      { other: 1 },
    ]) {
      expect((await patch(body)).status).toBe(422);
    }
  });

  it('removes each kind of data by its own setting, and leaves newer data', async () => {
    const [old, fresh] = [await call(), await call()];
    await age(old, 8);
    await age(fresh, 6);
    await patch({ recordings_days: 7 });
    await enforceRetention(api.context);
    expect([(await recording(old)).status, (await recording(fresh)).status]).toEqual([404, 200]);
    expect((await detail(old)).body.items).toHaveLength(1);
    expect((await blobs(old)).every((key) => key.includes('flight-log'))).toBe(true);
    await patch({ transcripts_days: 7, flight_logs_days: 7 });
    await enforceRetention(api.context);
    expect((await detail(old)).body).toMatchObject({ status: 'completed', items: [] });
    expect(await blobs(old)).toEqual([]);
    expect(await api.context.models.sessionAttachments.countDocuments({ session_id: old })).toBe(0);
    expect((await detail(fresh)).body.items).toHaveLength(1);
  });

  it('resumes where it stopped, and also removes what a shorter setting adds', async () => {
    const id = await call();
    await age(id, 5);
    await patch({ recordings_days: 7 });
    await enforceRetention(api.context);
    expect((await recording(id)).status).toBe(200);
    await patch({ recordings_days: 3 });
    await enforceRetention(api.context);
    expect((await recording(id)).status).toBe(404);
    const late = (await stored(id))!;
    await putSegment(
      api.context,
      late,
      { role: 'user', epoch: 1, index: 9, startMs: 0, rateHz: 8_000, samples: 2 },
      Buffer.alloc(4),
    );
    await enforceRetention(api.context);
    expect(await api.context.blobs.list(`sessions/${id}/recording/`)).toHaveLength(1);
  });

  it('does not apply one team’s settings to another', async () => {
    const id = await call();
    await age(id, 100);
    const stranger = await api.createUser();
    await patch(
      { recordings_days: 1, transcripts_days: 1, flight_logs_days: 1, deliveries_days: 1 },
      stranger.key,
    );
    await enforceRetention(api.context);
    expect((await recording(id)).status).toBe(200);
  });

  it('removes finished deliveries after 30 days or the team’s setting; pending ones stay', async () => {
    const id = await call();
    const { deliveries } = api.context.models;
    const finish = (days: number) =>
      deliveries.updateMany(
        { session_id: id },
        { $set: { state: 'delivered', finished_at: new Date(api.clock.wallTime() - days * DAY_MS) } },
      );
    await enforceRetention(api.context);
    expect(await deliveries.countDocuments({ session_id: id })).toBe(1);
    await finish(29);
    await enforceRetention(api.context);
    expect(await deliveries.countDocuments({ session_id: id })).toBe(1);
    await patch({ deliveries_days: null });
    await finish(400);
    await enforceRetention(api.context);
    expect(await deliveries.countDocuments({ session_id: id })).toBe(1);
    await patch({ deliveries_days: 30 });
    await enforceRetention(api.context);
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
    const stranger = await api.createUser();
    const [old, newer, running] = [
      await batchOf(user, agentId),
      await batchOf(user, agentId),
      await batchOf(user, agentId),
    ];
    const foreign = await batchOf(stranger, await api.publishAgent(stranger));
    for (const id of [old, foreign]) await finish(id, 8);
    await finish(newer, 6);
    const left = async () =>
      (await testBatches.find({ _id: { $in: [old, newer, running, foreign] } }, { _id: 1 }).lean())
        .map(({ _id }) => _id)
        .sort();
    await enforceRetention(api.context);
    expect(await left()).toHaveLength(4);
    await patch({ test_runs_days: 7 });
    await enforceRetention(api.context);
    expect(await left()).toEqual([newer, running, foreign].sort());
    expect(await testRuns.countDocuments({ batch_id: old })).toBe(0);
    expect(await testRuns.countDocuments({ batch_id: newer })).toBe(2);
    expect(
      (await api.request('GET', `/v1/agent/test-runs?batch_id=${old}`, { key: user.key })).body.test_runs,
    ).toEqual([]);
    expect(
      (await api.request('GET', `/v1/agent/agents/${agentId}/test-batches/${old}`, { key: user.key })).status,
    ).toBe(404);
  });
});

describe('the retention of many sessions', () => {
  it('store 12: resumes where it was cut off, and examines each session once', async () => {
    const id = await call();
    const { _id: _, ...session } = (await stored(id))!;
    const at = (index: number) => new Date(api.clock.wallTime() - 60 * DAY_MS + Math.floor(index / 3));
    const old = Array.from({ length: 250 }, (_, index) => ({
      ...session,
      _id: `old-${String(index).padStart(3, '0')}`,
      ended_at: at(index),
    }));
    await api.context.models.sessions.collection.insertMany(old as never[]);
    await patch({ flight_logs_days: 30 });
    const looked: string[] = [];
    let broken = 170;
    const deletePrefix = async (prefix: string): Promise<void> => {
      broken -= 1;
      if (broken === 0) throw new Error('the store of blobs is away');
      looked.push(prefix);
    };
    const context = { ...api.context, blobs: { ...api.context.blobs, deletePrefix } };
    await expect(enforceRetention(context)).rejects.toThrow('away');
    await enforceRetention(context);
    // It may examine the interrupted page again, and sessions of the same millisecond as the end of the page
    // before.
    expect(new Set(looked).size).toBe(250);
    expect(looked.length).toBeLessThan(250 + 100 + 3);
    expect(looked.lastIndexOf(looked[0] ?? '')).toBe(0);
    await enforceRetention(context);
    expect(looked.length).toBeLessThan(250 + 100 + 3);
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
    const [old, newer, running, foreign] = [
      await batchOf(user, 8),
      await batchOf(user, 6),
      await batchOf(user, null),
      await batchOf(await api.createUser(), 8),
    ];
    await patch({ batch_calls_days: 7 });
    await enforceRetention(api.context);
    const left = await batchCalls.find({ _id: { $in: [old, newer, running, foreign] } }, { _id: 1 }).lean();
    expect(left.map(({ _id }) => _id).sort()).toEqual([newer, running, foreign].sort());
    expect([
      await batchRows.countDocuments({ batch_id: old }),
      await batchRows.countDocuments({ batch_id: newer }),
    ]).toEqual([0, 1]);
  });
});

describe('the erasure of an end user', () => {
  it('destroys keys and sealed data and reports the removed data; a second erasure finds nothing', async () => {
    const [one, two, other] = [await call('u-1'), await call('u-1'), await call('u-2')];
    expect((await erase('u-1')).body).toEqual({
      sessions: 2,
      recording_segments: 2,
      flight_log_chunks: 2,
      attachments: 2,
      deliveries: 2,
    });
    for (const id of [one, two]) {
      const session = (await stored(id))!;
      expect(session).toMatchObject({ wrapped_key: null, timeline: [], outbox: [], end_user_id: null });
      expect(JSON.stringify(session)).not.toMatch(/planted|u-1/);
      expect(await blobs(id)).toEqual([]);
      expect((await detail(id)).body).toMatchObject({
        session_id: id,
        status: 'completed',
        items: [],
        name: null,
        metadata: {},
      });
      expect((await recording(id)).status).toBe(404);
    }
    expect((await detail(other)).body.items).toHaveLength(1);
    expect((await recording(other)).status).toBe(200);
    expect((await erase('u-1')).body).toEqual({
      sessions: 0,
      recording_segments: 0,
      flight_log_chunks: 0,
      attachments: 0,
      deliveries: 0,
    });
  });

  it('affects only the team; an end user of the same name in another team stays', async () => {
    const id = await call('u-1');
    const stranger = await api.createUser();
    expect((await erase('u-1', stranger.key)).body.sessions).toBe(0);
    expect((await detail(id)).body.items).toHaveLength(1);
  });

  it('lets a running call end and be charged, and stores none of its data', async () => {
    const id = await call('u-1', false);
    await erase('u-1');
    const session = (await stored(id))!;
    const late = {
      type: 'message',
      role: 'user',
      content: 'still here',
      created_at: api.at(),
      interrupted: false,
      generated_content: null,
      turn_id: 2,
    };
    await api.report(id, { type: 'items', items: [late as never] });
    await putSegment(
      api.context,
      session,
      { role: 'user', epoch: 1, index: 1, startMs: 0, rateHz: 8_000, samples: 2 },
      Buffer.alloc(4),
    );
    await api.clock.advance(1_000);
    await api.report(id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
    expect((await detail(id)).body).toMatchObject({ status: 'completed', items: [] });
    expect((await stored(id))?.billing.state).toBe('settled');
    expect(await blobs(id)).toEqual([]);
  });

  it('has an index for every query', async () => {
    await call('u-1');
    const { collection } = api.context.models.sessions;
    for (const filter of [
      { team_id: user.teamId, end_user_id: 'nobody' },
      { team_id: user.teamId, ended_at: { $gt: new Date(0), $lte: new Date(1) } },
    ]) {
      const plan = await collection.find(filter).explain();
      expect(plan['executionStats'].totalDocsExamined).toBe(0);
    }
  });
});

describe('the erasure of a phone number', () => {
  const NUMBER = '+14155550123';
  const eraseNumber = (phone_number: string, key = user.key) =>
    api.request('POST', '/v1/agent/erasures', { key, body: { phone_number } });
  const calledFrom = async (number: string): Promise<string> => {
    const id = await call('');
    await api.context.models.sessions.updateOne(
      { _id: id },
      { $set: { caller_number: number, end_user_id: null } },
    );
    return id;
  };

  it.each([NUMBER, '14155550123', '0014155550123'])(
    'security 18: removes calls of a caller without an id, whose number is written as %s',
    async (written) => {
      const [theirs, other] = [await calledFrom(written), await calledFrom('+14155550124')];
      expect((await eraseNumber(NUMBER)).body).toEqual({
        sessions: 1,
        recording_segments: 1,
        flight_log_chunks: 1,
        attachments: 1,
        deliveries: 1,
      });
      expect(await stored(theirs)).toMatchObject({ wrapped_key: null, caller_number: null, timeline: [] });
      expect((await detail(other)).body.items).toHaveLength(1);
    },
  );

  it('security 18: removes their refused calls, by number and by the number known for an id', async () => {
    const refusal = async (number: string) =>
      api.context.models.refusals.create({
        _id: newId(),
        team_id: user.teamId,
        agent_id: null,
        kind: 'inbound_call',
        reason: 'no_agent',
        message: 'm',
        status: 486,
        caller_number: number,
        dialed_number: '+15550100000',
        numbers: [number, '+15550100000'],
        sip_call_id: null,
        created_at: new Date(),
      });
    for (const number of [NUMBER, '+14155550124', '+14155550125']) await refusal(number);
    const known = await call('u-7');
    await api.context.models.sessions.updateOne({ _id: known }, { $set: { caller_number: '+14155550124' } });
    await eraseNumber(NUMBER);
    await erase('u-7');
    const left = await api.context.models.refusals.find({ team_id: user.teamId }).lean();
    expect(left.map(({ caller_number }) => caller_number)).toEqual(['+14155550125']);
  });

  it('security 18: removes their refused calls in every spelling, and no other withheld caller’s', async () => {
    const id = await call('u-8');
    const withheld = await call('u-8');
    await api.context.models.sessions.updateOne({ _id: id }, { $set: { caller_number: '0014155550126' } });
    await api.context.models.sessions.updateOne({ _id: withheld }, { $set: { caller_number: 'anonymous' } });
    for (const number of ['+14155550126', '14155550126', '0014155550126', 'anonymous'])
      await api.context.models.refusals.create({
        _id: newId(),
        team_id: user.teamId,
        agent_id: null,
        kind: 'inbound_call',
        reason: 'no_agent',
        message: 'm',
        status: 486,
        caller_number: number,
        dialed_number: '+15550100000',
        numbers: [number, '+15550100000'],
        sip_call_id: null,
        created_at: new Date(),
      });
    await erase('u-8');
    const left = await api.context.models.refusals.find({ team_id: user.teamId }).lean();
    expect(left.map(({ caller_number }) => caller_number)).toEqual(['anonymous']);
  });

  it.each([
    ['07700900123', ['+2125550100', '002125550100']],
    ['09012345678', ['+2125550100', '002125550100']],
    ['2125550100', ['+2125550100', '002125550100']],
    ['+2125550100', []],
    ['000', ['+2125550100', '000', '002125550100']],
  ])('removes only that person’s refused calls if the carrier reported them as %s', async (given, others) => {
    const id = await call('u-9');
    await api.context.models.sessions.updateOne({ _id: id }, { $set: { caller_number: given } });
    for (const number of new Set([given, '+2125550100', '002125550100'])) {
      await api.context.models.refusals.create({
        _id: newId(),
        team_id: user.teamId,
        agent_id: null,
        kind: 'inbound_call',
        reason: 'no_agent',
        message: 'm',
        status: 486,
        caller_number: number,
        dialed_number: '+15550100000',
        numbers: [number, '+15550100000'],
        sip_call_id: null,
        created_at: new Date(),
      });
    }
    await erase('u-9');
    const left = await api.context.models.refusals.find({ team_id: user.teamId }).lean();
    expect(left.map(({ caller_number }) => caller_number).sort()).toEqual(others);
  });

  it('security 18: removes its rows in batches, and waiting ones are not called', async () => {
    const row = {
      _id: newId(),
      team_id: user.teamId,
      batch_id: 'b',
      to_number: NUMBER,
      state: 'waiting',
      variables: '{"a":1}',
      metadata: '{}',
    };
    await api.context.models.batchRows.collection.insertOne(row as never);
    await eraseNumber(NUMBER);
    expect(await api.context.models.batchRows.findById(row._id).lean()).toMatchObject({
      to_number: '',
      variables: '{}',
      state: 'cancelled',
    });
  });

  it('security 18: affects only the team, and needs one of the two ways to name a person', async () => {
    const id = await calledFrom(NUMBER);
    const stranger = await api.createUser();
    expect((await eraseNumber(NUMBER, stranger.key)).body.sessions).toBe(0);
    expect((await detail(id)).body.items).toHaveLength(1);
    for (const body of [{}, { phone_number: 'call me' }])
      expect((await api.request('POST', '/v1/agent/erasures', { key: user.key, body })).status).toBe(422);
  });
});
