import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  AudioSource,
  LocalAudioTrack,
  type LocalTrack,
  LocalVideoTrack,
  Room,
  RoomEvent,
  TrackPublishOptions,
  TrackSource,
  VideoSource,
} from '@livekit/rtc-node';
import { AccessToken } from 'livekit-server-sdk';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { startRoomReconciliation } from '#control-plane/calls/livekit/reconcile-rooms.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import { openRooms } from '#control-plane/platform/open-rooms.ts';
import type { Rooms } from '#control-plane/platform/rooms.ts';
import { type LivekitServer, startLivekitServer } from '../../../fakes/livekit-server.ts';
import { describeNeeds, itNeeds } from '../../../needs.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const NEEDS = ['livekit-server'];
const CREDIT = 10_000_000;

describeNeeds(NEEDS)('the rooms of sessions', () => {
  let server: LivekitServer;
  let api: TestCalls;
  let rooms: Rooms;
  let keeper: BackgroundLoop;
  let user: TestUser;
  let agentId: string;

  beforeAll(async () => {
    server = await startLivekitServer();
    const opened = openRooms(
      readSettings(server.environment),
      createLogger({ level: 'silent', name: 'test' }),
    );
    if (!opened) throw new Error('no rooms');
    rooms = opened;
    api = await openTestCalls(server.environment, { rooms });
    keeper = startRoomReconciliation(api.context);
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
    (await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id: agentId } })).body
      .session_id;
  const read = async (id: string) =>
    (await api.request('GET', `/v1/agent/sessions/${id}`, { key: user.key })).body;
  const kept = async () => {
    keeper.kick();
    await keeper.idle();
  };

  itNeeds(NEEDS)('exist as long as their session: its worker is instructed to join', async () => {
    const id = await session();
    expect(await rooms.list()).toContain(id);
    const plan = api.dispatch.plans.at(-1)?.plan;
    expect(plan?.transport).toMatchObject({
      type: 'livekit',
      url: server.environment.LIVEKIT_URL,
      caller_identity: `user-${id}`,
    });
    await api.report(id, { type: 'joined', at: api.at() });
    await kept();
    expect(await rooms.list()).toContain(id);
    await api.report(id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
    expect(await rooms.list()).not.toContain(id);
  });

  itNeeds(NEEDS)(
    'are closed when they outlive their session, while rooms of other products are left alone',
    async () => {
      const id = await session();
      await api.report(id, { type: 'joined', at: api.at() });
      await api.report(id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
      await rooms.create(id, 60);
      await rooms.create('of-another-product', 60);
      await kept();
      expect(await rooms.list()).toContain('of-another-product');
      expect(await rooms.list()).not.toContain(id);
    },
  );

  itNeeds(NEEDS)(
    'end an abandoned session once its caller has been out of the room for 15 s, charged until last seen',
    async () => {
      const id = await session();
      await api.report(id, { type: 'joined', at: api.at() });
      await api.sink.workerLost('worker-1');
      await kept();
      expect((await read(id)).status).toBe('unknown');
      await api.clock.advance(15_000);
      await kept();
      // A client that reconnects is out of the room for a moment.
      expect((await read(id)).status).toBe('unknown');
      await api.clock.advance(15_000);
      await kept();
      expect(await read(id)).toMatchObject({
        status: 'completed',
        end_reason: 'user_hangup',
        duration_seconds: 0,
      });
      expect(await api.balance(user.userId)).toBe(CREDIT);
    },
  );

  const postNews = async (
    news: object,
    { secret = server.environment.LIVEKIT_API_SECRET, payload = JSON.stringify(news) } = {},
  ) => {
    const token = new AccessToken(server.environment.LIVEKIT_API_KEY, secret);
    token.sha256 = createHash('sha256').update(JSON.stringify(news)).digest('base64');
    const headers = { 'content-type': 'application/webhook+json', authorization: await token.toJwt() };
    return (await api.request('POST', '/webhooks/livekit', { raw: payload, headers })).status;
  };

  itNeeds(NEEDS)('follow LiveKit’s webhooks, which must be signed with our secret', async () => {
    const news = { event: 'participant_left', room: { name: 'r' }, participant: { identity: 'user-r' } };
    const body = JSON.stringify(news);
    let rings = 0;
    const stop = api.context.workSignals.on('rooms', () => {
      rings++;
    });
    expect(await postNews(news, { secret: 'a-secret-of-another-product-that-is-long-enough' })).toBe(401);
    expect(await postNews(news, { payload: body.replace('user-r', 'user-x') })).toBe(401);
    expect((await api.request('POST', '/webhooks/livekit', { raw: body })).status).toBe(401);
    expect(rings).toBe(0);
    expect(await postNews(news)).toBe(200);
    expect(rings).toBe(1);
    stop();
  });

  itNeeds(NEEDS)(
    'are closed when a used token opens them again after the end; rooms of other products are not',
    async () => {
      const id = await session();
      const token = await rooms.token({ room: id, identity: `user-${id}`, role: 'caller', ttlSeconds: 60 });
      await api.report(id, { type: 'joined', at: api.at() });
      await api.report(id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
      const room = new Room();
      await room.connect(server.environment.LIVEKIT_URL, token, { autoSubscribe: false, dynacast: false });
      const left = once(room, RoomEvent.Disconnected);
      const joined = (name: string) =>
        postNews({ event: 'participant_joined', room: { name }, participant: { identity: `user-${id}` } });
      await rooms.create('of-another-product', 60);
      expect([await joined('of-another-product'), await joined(id)]).toEqual([200, 200]);
      await left;
      expect(await rooms.list()).not.toContain(id);
      expect(await rooms.list()).toContain('of-another-product');
    },
  );

  itNeeds(NEEDS)('accept a caller’s microphone, and neither video nor screen sharing', async () => {
    /** Publishes a microphone and then another track, as a caller of its own: refused tracks wait in turn. */
    const publishes = async (identity: string, track: LocalTrack, source: TrackSource) => {
      const token = await rooms.token({ room: 'sources', identity, role: 'caller', ttlSeconds: 60 });
      const caller = new Room();
      await caller.connect(server.environment.LIVEKIT_URL, token, { autoSubscribe: false, dynacast: false });
      const publish = (of: LocalTrack, options: TrackPublishOptions) =>
        caller.localParticipant?.publishTrack(of, options) ?? Promise.reject(new Error('not connected'));
      const microphone = LocalAudioTrack.createAudioTrack('microphone', new AudioSource(48_000, 1));
      await publish(microphone, new TrackPublishOptions({ source: TrackSource.SOURCE_MICROPHONE }));
      const [{ status }] = await Promise.allSettled([publish(track, new TrackPublishOptions({ source }))]);
      expect(await rooms.participants('sources')).toContain(identity);
      await caller.disconnect();
      return status;
    };
    const camera = LocalVideoTrack.createVideoTrack('camera', new VideoSource(16, 16));
    const screen = LocalAudioTrack.createAudioTrack('screen', new AudioSource(48_000, 1));
    expect(
      await Promise.all([
        publishes('user-1', camera, TrackSource.SOURCE_CAMERA),
        publishes('user-2', screen, TrackSource.SOURCE_SCREENSHARE_AUDIO),
      ]),
    ).toEqual(['rejected', 'rejected']);
  });

  itNeeds(NEEDS)(
    'cannot be created with a wrong secret: the answer is a 502, and the log line contains no token',
    async () => {
      const lines: string[] = [];
      const settings = readSettings({
        ...server.environment,
        LIVEKIT_API_SECRET: 'a-secret-of-another-product-that-is-long-enough',
      });
      const refused = openRooms(
        settings,
        createLogger({ level: 'debug', name: 'test' }, { write: (line) => lines.push(line) }),
      );
      await expect(refused?.create('r', 5)).rejects.toMatchObject({ status: 502 });
      expect(lines.join('')).toContain('invalid token: [token]');
      expect(lines.join('')).not.toContain('eyJ');
    },
  );

  itNeeds(NEEDS)(
    'cannot be created while the server is down: the answer is a 502, and the charge is returned',
    async () => {
      await server.close();
      const refused = await api.request('POST', '/v1/agent/sessions', {
        key: user.key,
        body: { agent_id: agentId },
      });
      expect([refused.status, refused.body.message]).toEqual([502, 'Agent gateway is unreachable']);
      expect(await api.balance(user.userId)).toBe(CREDIT);
      expect(api.dispatch.withdrawn).toHaveLength(1);
      server = await startLivekitServer({ port: server.port });
    },
  );
});
