import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { putStored } from '#control-plane/calls/recordings/recording-store.ts';
import { erasePerson } from '#control-plane/operations/privacy/erase.ts';
import { newId } from '#control-plane/platform/context.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestPrivacy, segmentOf, type TestPrivacy } from './test-privacy.ts';

let api: TestPrivacy;
let user: TestUser;
beforeAll(async () => {
  api = await openTestPrivacy();
});
beforeEach(async () => {
  user = await api.newTenant();
});
afterAll(() => api.close());

/** Stores a refused call from this number. */
function createRefusal(number: string) {
  return api.context.models.refusals.create({
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

describe('the erasure of an end user', () => {
  it('destroys keys and sealed data and reports the removed data; a second erasure finds nothing', async () => {
    const [one, two, other] = [await api.call('u-1'), await api.call('u-1'), await api.call('u-2')];
    expect((await api.erase('u-1')).body).toEqual({
      sessions: 2,
      recording_segments: 2,
      flight_log_chunks: 2,
      attachments: 2,
      deliveries: 2,
    });
    for (const id of [one, two]) {
      const session = (await api.stored(id))!;
      expect(session).toMatchObject({ wrapped_key: null, timeline: [], outbox: [], end_user_id: null });
      expect(JSON.stringify(session)).not.toMatch(/planted|u-1/);
      expect(await api.blobs(id)).toEqual([]);
      expect((await api.detail(id)).body).toMatchObject({
        session_id: id,
        status: 'completed',
        items: [],
        name: null,
        metadata: {},
      });
      expect((await api.recording(id)).status).toBe(404);
    }
    expect((await api.detail(other)).body.items).toHaveLength(1);
    expect((await api.recording(other)).status).toBe(200);
    expect((await api.erase('u-1')).body).toEqual({
      sessions: 0,
      recording_segments: 0,
      flight_log_chunks: 0,
      attachments: 0,
      deliveries: 0,
    });
  });

  it('destroys the keys of all sessions before it deletes anything, however many there are', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 12; index++) ids.push(await api.call('u-many'));
    let keysLeft = -1;
    const deletePrefix = async (prefix: string) => {
      const withKey = { _id: { $in: ids }, wrapped_key: { $ne: null } };
      if (keysLeft < 0) keysLeft = await api.context.models.sessions.countDocuments(withKey);
      return api.context.blobs.deletePrefix(prefix);
    };
    const context = { ...api.context, blobs: { ...api.context.blobs, deletePrefix } };
    const person = { endUserId: 'u-many', phoneNumber: undefined };
    expect(await erasePerson(context, user.teamId, person)).toMatchObject({
      sessions: 12,
      recording_segments: 12,
    });
    expect(keysLeft).toBe(0);
  });

  it('affects only the team; an end user of the same name in another team stays', async () => {
    const id = await api.call('u-1');
    const other = await api.createUser();
    expect((await api.erase('u-1', other.key)).body.sessions).toBe(0);
    expect((await api.detail(id)).body.items).toHaveLength(1);
  });

  it('lets a running call end and be charged, and stores none of its data', async () => {
    const id = await api.call('u-1', false);
    await api.erase('u-1');
    const session = (await api.stored(id))!;
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
    await putStored(api.context, session, segmentOf(1, 1), Buffer.alloc(4));
    await api.clock.advance(1_000);
    await api.report(id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
    expect((await api.detail(id)).body).toMatchObject({ status: 'completed', items: [] });
    expect((await api.stored(id))?.billing.state).toBe('settled');
    expect(await api.blobs(id)).toEqual([]);
  });
});

describe('the erasure of a phone number', () => {
  const NUMBER = '+14155550123';
  const eraseNumber = (phone_number: string, key = user.key) =>
    api.request('POST', '/v1/agent/erasures', { key, body: { phone_number } });
  const calledFrom = async (number: string): Promise<string> => {
    const id = await api.call('');
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
      expect(await api.stored(theirs)).toMatchObject({
        wrapped_key: null,
        caller_number: null,
        timeline: [],
      });
      expect((await api.detail(other)).body.items).toHaveLength(1);
    },
  );

  it('security 18: removes their refused calls, by number and by the number known for an id', async () => {
    for (const number of [NUMBER, '+14155550124', '+14155550125']) await createRefusal(number);
    const known = await api.call('u-7');
    await api.context.models.sessions.updateOne({ _id: known }, { $set: { caller_number: '+14155550124' } });
    await eraseNumber(NUMBER);
    await api.erase('u-7');
    const left = await api.context.models.refusals.find({ team_id: user.teamId }).lean();
    expect(left.map(({ caller_number }) => caller_number)).toEqual(['+14155550125']);
  });

  it('security 18: removes their refused calls in every spelling, and no other withheld caller’s', async () => {
    const id = await api.call('u-8');
    const withheld = await api.call('u-8');
    await api.context.models.sessions.updateOne({ _id: id }, { $set: { caller_number: '0014155550126' } });
    await api.context.models.sessions.updateOne({ _id: withheld }, { $set: { caller_number: 'anonymous' } });
    for (const number of ['+14155550126', '14155550126', '0014155550126', 'anonymous'])
      await createRefusal(number);
    await api.erase('u-8');
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
    const id = await api.call('u-9');
    await api.context.models.sessions.updateOne({ _id: id }, { $set: { caller_number: given } });
    for (const number of new Set([given, '+2125550100', '002125550100'])) {
      await createRefusal(number);
    }
    await api.erase('u-9');
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
    const other = await api.createUser();
    expect((await eraseNumber(NUMBER, other.key)).body.sessions).toBe(0);
    expect((await api.detail(id)).body.items).toHaveLength(1);
    for (const body of [{}, { phone_number: 'call me' }])
      expect((await api.request('POST', '/v1/agent/erasures', { key: user.key, body })).status).toBe(422);
  });
});
