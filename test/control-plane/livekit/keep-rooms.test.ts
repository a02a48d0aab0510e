import { createHash } from 'node:crypto';
import { AccessToken } from 'livekit-server-sdk';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { readSettings } from '#config/env.ts';
import { createLogger } from '#config/log.ts';
import type { ChoreLoop } from '#control-plane/chore-loop.ts';
import { startRoomKeeper } from '#control-plane/livekit/keep-rooms.ts';
import { openRooms, type Rooms } from '#control-plane/livekit/rooms.ts';
import { type LivekitServer, startLivekitServer } from '#test/fakes/livekit-server.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import type { TestUser } from '../test-api.ts';
import { openTestCalls, type TestCalls } from '../test-calls.ts';

const NEEDS = ['livekit-server'];
const CREDIT = 10_000_000;

describeNeeds(NEEDS)('rooms and sessions in step', () => {
  let server: LivekitServer;
  let api: TestCalls;
  let rooms: Rooms;
  let keeper: ChoreLoop;
  let user: TestUser;
  let agentId: string;

  beforeAll(async () => {
    server = await startLivekitServer();
    const opened = openRooms(readSettings(server.environment), createLogger({ level: 'silent', name: 'test' }));
    if (!opened) throw new Error('no rooms');
    rooms = opened;
    api = await openTestCalls(server.environment, { rooms });
    keeper = startRoomKeeper(api.context);
  });
  beforeEach(async () => {
    user = await api.createUser();
    agentId = await api.publishAgent(user);
  });
  afterAll(async () => {
    await keeper?.close();
    await api?.close();
    await server?.close();
  });

  const session = async (): Promise<string> =>
    (await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id: agentId } })).body.session_id;
  const read = async (id: string) => (await api.request('GET', `/v1/agent/sessions/${id}`, { key: user.key })).body;
  const kept = async () => {
    keeper.kick();
    await keeper.idle();
  };

  itNeeds(NEEDS)('supplement 4.1: a session has a room, which its worker is told to join, and which goes with it', async () => {
    const id = await session();
    expect(await rooms.list()).toContain(id);
    const plan = api.dispatch.plans.at(-1)?.plan;
    expect(plan?.transport).toMatchObject({ type: 'livekit', url: server.environment.LIVEKIT_URL, caller_identity: `user-${id}` });
    await api.report(id, { type: 'joined', at: api.at() });
    await kept();
    expect(await rooms.list()).toContain(id);
    await api.report(id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
    expect(await rooms.list()).not.toContain(id);
  });

  itNeeds(NEEDS)('closes a room that outlived its session, and leaves those of others alone', async () => {
    const id = await session();
    await api.report(id, { type: 'joined', at: api.at() });
    await api.report(id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
    await rooms.create(id, 60);
    await rooms.create('of-somebody-else', 60);
    await kept();
    expect(await rooms.list()).toContain('of-somebody-else');
    expect(await rooms.list()).not.toContain(id);
  });

  itNeeds(NEEDS)('ends a session nobody watches once its caller is not in the room, charged until it was last seen', async () => {
    const id = await session();
    await api.report(id, { type: 'joined', at: api.at() });
    await api.sink.workerLost('worker-1');
    await kept();
    expect((await read(id)).status).toBe('unknown');
    await api.clock.advance(15_000);
    await kept();
    expect(await read(id)).toMatchObject({ status: 'completed', end_reason: 'user_hangup', duration_seconds: 0 });
    expect(await api.balance(user.userId)).toBe(CREDIT);
  });

  itNeeds(NEEDS)('listens to LiveKit’s webhooks when they are signed with our secret', async () => {
    const body = JSON.stringify({ event: 'participant_left', room: { name: 'r' }, participant: { identity: 'user-r' } });
    const { LIVEKIT_API_KEY, LIVEKIT_API_SECRET } = server.environment;
    const tell = async (secret: string, told = body) => {
      const token = new AccessToken(LIVEKIT_API_KEY, secret);
      token.sha256 = createHash('sha256').update(body).digest('base64');
      const headers = { 'content-type': 'application/webhook+json', authorization: await token.toJwt() };
      return (await api.request('POST', '/webhooks/livekit', { raw: told, headers })).status;
    };
    let rings = 0;
    const stop = api.context.bell.on('rooms', () => {
      rings++;
    });
    expect(await tell('a-secret-of-somebody-else-that-is-long-enough')).toBe(401);
    expect(await tell(LIVEKIT_API_SECRET, body.replace('user-r', 'user-x'))).toBe(401);
    expect((await api.request('POST', '/webhooks/livekit', { raw: body })).status).toBe(401);
    expect(rings).toBe(0);
    expect(await tell(LIVEKIT_API_SECRET)).toBe(200);
    expect(rings).toBe(1);
    stop();
  });

  itNeeds(NEEDS)('running.md: a server that is away is a 502, and nothing stays charged', async () => {
    await server.close();
    const refused = await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id: agentId } });
    expect([refused.status, refused.body.message]).toEqual([502, 'Agent gateway is unreachable']);
    expect(await api.balance(user.userId)).toBe(CREDIT);
    expect(api.dispatch.withdrawn).toHaveLength(1);
    server = await startLivekitServer({ port: server.port });
  });
});
