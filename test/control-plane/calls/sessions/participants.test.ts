import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { startRoomReconciliation } from '#control-plane/calls/livekit/reconcile-rooms.ts';
import { openRooms } from '#control-plane/platform/open-rooms.ts';
import { type LivekitRooms, startLivekitRooms } from '../../../fakes/livekit-rooms.ts';
import { Device, makePhone } from '../../catalogue/phones/phone-bench.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;
let sessionId: string;

/** Starts a session with a connected participant. */
async function startSession(): Promise<string> {
  const agentId = await api.publishAgent(user);
  const { body } = await api.request('POST', '/v1/agent/sessions', {
    key: user.key,
    body: { agent_id: agentId },
  });
  await api.report(body.session_id, { type: 'joined', at: api.at() });
  return body.session_id;
}
const end = () => api.report(sessionId, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
const join = (body?: object, key = user.key) =>
  api.request('POST', `/v1/agent/sessions/${sessionId}/participants`, { key, ...(body ? { body } : {}) });
const path = (id: string) => `/v1/agent/sessions/${sessionId}/participants/${id}`;
const offer = (id: string, token: string) =>
  api.request('POST', `${path(id)}/webrtc`, {
    headers: { authorization: `Bearer ${token}` },
    body: { type: 'offer', sdp: 'v=0' },
  });

describe('colleagues in calls, without LiveKit', () => {
  beforeAll(async () => {
    api = await openTestCalls();
  });
  beforeEach(async () => {
    api.dispatch.reset();
    user = await api.createUser();
    sessionId = await startSession();
  });
  afterAll(() => api.close());

  it('get their own address and token, with which the session’s worker connects their browser', async () => {
    const { status, body } = await join({ name: 'Ann', mode: 'take_over' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      transport: 'webrtc',
      session_id: sessionId,
      webrtc_url: expect.stringContaining(`${path(body.participant_id)}/webrtc`),
    });
    const answer = await offer(body.participant_id, body.token);
    expect([answer.status, answer.body]).toEqual([200, { type: 'answer', sdp: 'answer to v=0' }]);
    expect(api.dispatch.joined).toEqual([
      {
        key: { sessionId, epoch: 1 },
        participant: {
          id: body.participant_id,
          name: 'Ann',
          mode: 'take_over',
          connection: { type: 'webrtc', sdp: 'v=0' },
        },
      },
    ]);
  });

  it('rings the phones of an extension, and says so if none is registered', async () => {
    const phone = await makePhone(api, user, '204');
    const refused = await join({ phone_extension: '204' });
    expect([refused.status, refused.body.reason]).toEqual([409, 'phone_not_registered']);
    await new Device(api, phone).register();
    const { status, body } = await join({ name: 'Ann', mode: 'take_over', phone_extension: '204' });
    expect([status, body]).toEqual([
      201,
      { transport: 'phone', session_id: sessionId, participant_id: expect.any(String) },
    ]);
    expect(api.dispatch.joined[0]?.participant).toMatchObject({
      name: 'Ann',
      mode: 'take_over',
      connection: { type: 'phones', places: [{ next_hop: 'sip:203.0.113.9:5062;transport=udp' }] },
    });
    // Another account's phones are not rung.
    user = await api.createUser();
    sessionId = await startSession();
    expect((await join({ phone_extension: '204' })).status).toBe(409);
  });

  it('need their own token, which becomes invalid when they are removed', async () => {
    const [ann, bob] = [(await join()).body, (await join()).body];
    expect((await offer(ann.participant_id, bob.token)).status).toBe(401);
    expect((await offer('nobody', ann.token)).status).toBe(401);
    expect((await api.request('DELETE', path(ann.participant_id), { key: user.key })).status).toBe(204);
    expect((await offer(ann.participant_id, ann.token)).status).toBe(401);
    expect((await offer(bob.participant_id, bob.token)).status).toBe(200);
  });

  it('have a token that opens only its own call and is never shown again', async () => {
    const { participant_id: id, token } = (await join()).body;
    const theirs = sessionId;
    for (const owner of [user, await api.createUser()]) {
      user = owner;
      sessionId = await startSession();
      expect((await offer(id, token)).status).toBe(401);
      await join();
      expect((await offer(id, token)).status).toBe(401);
    }
    sessionId = theirs;
    expect((await offer(id, token)).status).toBe(200);
    expect(api.dispatch.joined.map(({ key }) => key.sessionId)).toEqual([theirs]);
  });

  it('take the call over and hand it back, and keep their last mode when the browser reconnects', async () => {
    const { participant_id: id, token } = (await join()).body;
    const change = (mode: string) => api.request('PATCH', path(id), { key: user.key, body: { mode } });
    const taken = await change('take_over');
    expect([taken.status, taken.body]).toEqual([200, { participant_id: id, mode: 'take_over' }]);
    await offer(id, token);
    await change('listen');
    await offer(id, token);
    expect(api.dispatch.joined.map(({ participant }) => participant.mode)).toEqual(['take_over', 'listen']);
    expect(api.dispatch.changed.map(({ change: what }) => what)).toEqual(['take_over', 'listen']);
    expect((await change('shout')).status).toBe(422);
  });

  it.each([
    ['call_taken', 409, 'Another colleague has this call: they must hand it back or leave first'],
    [
      'call_not_takeable',
      409,
      'The agent cannot leave this call now: it is being transferred or ending; try again',
    ],
    ['not_found', 404, 'Not found'],
  ] as const)('get the error %s as %i', async (code, status, message) => {
    const { participant_id: id } = (await join()).body;
    api.dispatch.refusal = code;
    const refused = await api.request('PATCH', path(id), { key: user.key, body: { mode: 'take_over' } });
    expect([refused.status, refused.body.message]).toEqual([status, message]);
    // A participant who has already left can still be removed.
    if (code === 'not_found')
      expect((await api.request('DELETE', path(id), { key: user.key })).status).toBe(204);
  });

  it('may join only active calls of their own team', async () => {
    const otherUser = await api.createUser();
    expect((await join({}, otherUser.key)).status).toBe(404);
    const { participant_id: id, token } = (await join()).body;
    expect(
      (await api.request('PATCH', path(id), { key: otherUser.key, body: { mode: 'take_over' } })).status,
    ).toBe(404);
    expect((await api.request('DELETE', path(id), { key: otherUser.key })).status).toBe(404);
    await end();
    expect([(await join()).body.message, (await offer(id, token)).body.message]).toEqual([
      'Session has ended',
      'Session has ended',
    ]);
    const agentId = await api.publishAgent(user);
    sessionId = (
      await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id: agentId } })
    ).body.session_id;
    expect((await join()).body.message).toBe('Nobody is connected to this session yet');
  });

  it('have their actions and, under a role of their own, their words recorded in the session', async () => {
    const created_at = api.at();
    const event = {
      type: 'participant',
      participant_id: 'p1',
      name: 'Ann',
      turn_id: null,
      created_at,
    } as const;
    const words = {
      type: 'message',
      role: 'human',
      content: 'Hello',
      turn_id: null,
      id: 'm1',
      created_at,
    } as const;
    const items = [{ ...event, event: 'joined' as const }, { ...event, event: 'took_over' as const }, words];
    await api.report(sessionId, { type: 'items', items });
    await join();
    const { body, text } = await api.request('GET', `/v1/agent/sessions/${sessionId}`, { key: user.key });
    expect(body.items).toEqual(items);
    expect(text).not.toContain('token_hash');
  });
});

/** LiveKit's address for browsers. */
const PUBLIC_URL = 'wss://rooms.example.com';

describe('colleagues in calls, with LiveKit', () => {
  let livekit: LivekitRooms;

  beforeAll(async () => {
    livekit = await startLivekitRooms();
    const environment = { ...livekit.environment, LIVEKIT_PUBLIC_URL: PUBLIC_URL };
    const rooms = openRooms(readSettings(environment), createLogger({ level: 'silent', name: 'test' }));
    api = await openTestCalls(environment, { rooms });
  });
  beforeEach(async () => {
    livekit.rooms.clear();
    api.dispatch.reset();
    user = await api.createUser();
    sessionId = await startSession();
  });
  afterAll(async () => {
    await api.close();
    await livekit.close();
  });
  const roomOf = (id: string) => `${sessionId}.${id}`;

  it('get a token for a room at its public address, which the worker joins at its own; both end together', async () => {
    const { body } = await join({ name: 'Ann' });
    const { participant_id: id } = body;
    expect(body).toEqual({
      transport: 'livekit',
      livekit_url: PUBLIC_URL,
      token: expect.any(String),
      session_id: sessionId,
      participant_id: id,
    });
    expect(api.dispatch.joined[0]?.participant).toMatchObject({
      id,
      name: 'Ann',
      mode: 'listen',
      connection: {
        type: 'livekit',
        url: livekit.environment.LIVEKIT_URL,
        identity: `colleague-${id}`,
      },
    });
    expect([...livekit.rooms.keys()]).toEqual([sessionId, roomOf(id)]);
    await end();
    expect([...livekit.rooms.keys()]).toEqual([]);
  });

  it('have their room closed when they are removed', async () => {
    const { participant_id: id } = (await join()).body;
    await api.request('DELETE', path(id), { key: user.key });
    expect([...livekit.rooms.keys()]).toEqual([sessionId]);
    expect(api.dispatch.changed).toMatchObject([{ participantId: id, change: 'leave' }]);
  });

  it('get no room when the worker cannot be reached', async () => {
    api.dispatch.unreachable = 'gateway_unreachable';
    expect((await join()).status).toBe(502);
    expect([...livekit.rooms.keys()]).toEqual([sessionId]);
  });

  it('lose a room that outlives its session, which the room keeper closes', async () => {
    const { participant_id: id } = (await join()).body;
    await end();
    livekit.rooms.set(roomOf(id), []);
    livekit.rooms.set('of-another-product', []);
    const keeper = startRoomReconciliation(api.context);
    keeper.kick();
    await keeper.idle();
    await keeper.close();
    expect([...livekit.rooms.keys()]).toEqual(['of-another-product']);
  });
});
