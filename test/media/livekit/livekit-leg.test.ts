import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { speak } from '#caller/spoken.ts';
import { readSettings } from '#config/env.ts';
import { openRooms } from '#control-plane/platform/open-rooms.ts';
import { agentIdentity, callerIdentity, type Rooms } from '#control-plane/platform/rooms.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { LegLog } from '../../fakes/leg-log.ts';
import { LivekitCaller } from '../../fakes/livekit-caller.ts';
import { type LivekitServer, startLivekitServer } from '../../fakes/livekit-server.ts';
import { describeNeeds, itNeeds } from '../../needs.ts';

const NEEDS = ['livekit-server'];
/** The servers are real and the machine may be busy. */
const PATIENCE = { timeout: 20_000 };
const LIMIT_MS = 20_000;

const tone = (rateHz: number, ms: number, hz: number) =>
  Int16Array.from(
    { length: (rateHz * ms) / 1000 },
    (_, n) => 8000 * Math.sin((2 * Math.PI * hz * n) / rateHz),
  );
const isLoud = (samples: Int16Array) => samples.some((sample) => Math.abs(sample) > 4000);

describeNeeds(NEEDS)('a leg in a LiveKit room', () => {
  let server: LivekitServer;
  let rooms: Rooms;
  let host: LegFactory;
  const logger = createLogger({ level: 'silent', name: 'test' });

  beforeAll(async () => {
    server = await startLivekitServer();
    const opened = openRooms(readSettings(server.environment), logger);
    if (!opened) throw new Error('no rooms');
    rooms = opened;
    host = await startMediaThread({
      rtpPortMin: 22_400,
      rtpPortMax: 22_499,
      iceServers: [],
      clock: systemClock,
      logger,
    });
  });
  afterAll(async () => {
    await host?.close();
    await server?.close();
  });

  async function open(recording: { firstSegment: number } | null = null, mayRejoin = false) {
    const room = `room-${randomBytes(6).toString('hex')}`;
    await rooms.create(room, 60);
    return openIn(room, recording, mayRejoin);
  }

  async function openIn(room: string, recording: { firstSegment: number } | null = null, mayRejoin = false) {
    const token = await rooms.token({ room, identity: agentIdentity(room), role: 'agent', ttlSeconds: 600 });
    const { leg } = await host.openLivekitLeg({
      url: rooms.url,
      token,
      callerIdentity: callerIdentity(room),
      recording,
      mayRejoin,
    });
    return { room, leg, log: new LegLog(leg) };
  }

  async function join(room: string): Promise<LivekitCaller> {
    const token = await rooms.token({ room, identity: callerIdentity(room), role: 'caller', ttlSeconds: 60 });
    return LivekitCaller.join(rooms.url, token);
  }

  async function connect(recording: { firstSegment: number } | null = null) {
    const opened = await open(recording);
    const caller = await join(opened.room);
    await opened.log.next('connected', undefined, LIMIT_MS);
    return { ...opened, caller };
  }

  itNeeds(NEEDS)('carries voice both ways and records it on one timeline', async () => {
    const { leg, log, caller } = await connect({ firstSegment: 0 });
    leg.send({
      do: 'play',
      replyId: 'r',
      pieceId: 0,
      samples: tone(leg.outRateHz, 600, 880),
      marks: Int32Array.of(),
      last: true,
    });
    await caller.speak(tone(48_000, 800, 440));
    await log.next('playout.finished', undefined, LIMIT_MS);
    await expect
      .poll(() => log.frames().filter(({ samples }) => isLoud(samples)).length, PATIENCE)
      .toBeGreaterThan(20);
    await expect.poll(() => caller.loudBlocks, PATIENCE).toBeGreaterThan(40);
    await caller.leave();
    expect(await log.next('closed', undefined, LIMIT_MS)).toMatchObject({ reason: 'remote' });
    const tracks = log.all('recording').map((event) => [event.track, event.rateHz]);
    expect(tracks).toEqual([
      ['user', 16_000],
      ['agent', 24_000],
    ]);
    expect(log.events.at(-1)?.type).toBe('closed');
  });

  itNeeds(NEEDS)(
    'plays nothing before its caller can hear it, when five join at once',
    PATIENCE,
    async () => {
      const GREETING_MS = 1_500;
      const legs = await Promise.all(Array.from({ length: 5 }, () => open()));
      const missingMs = await Promise.all(
        legs.map(async ({ room, leg, log }) => {
          const joining = join(room);
          await log.next('connected', undefined, LIMIT_MS);
          leg.send({
            do: 'play',
            replyId: 'greeting',
            pieceId: 0,
            samples: tone(leg.outRateHz, GREETING_MS, 880),
            marks: Int32Array.of(),
            last: true,
          });
          const caller = await joining;
          await log.next('playout.finished', undefined, LIMIT_MS);
          await systemClock.sleep(500);
          await caller.leave();
          return GREETING_MS - caller.loudBlocks * 10;
        }),
      );
      // One of them may suffer from a busy machine.
      expect(missingMs.sort((a, b) => a - b)[2]).toBeLessThan(100);
    },
  );

  itNeeds(NEEDS)('hears when the caller begins and ends to speak', async () => {
    const { log, caller } = await connect();
    await caller.speak(speak('Good morning.', { rateHz: 48_000, beforeMs: 500, afterMs: 1_500 }).samples);
    const onset = await log.next('voice.onset', undefined, LIMIT_MS);
    const offset = await log.next('voice.offset', undefined, LIMIT_MS);
    expect(offset.atMs).toBeGreaterThan(onset.atMs);
    await caller.leave();
  });

  itNeeds(NEEDS)(
    'sends state as an attribute, transcripts as text streams, and the rest on data topics',
    async () => {
      const { room, leg, log, caller } = await connect();
      const say = (event: unknown) => leg.send({ do: 'sendMessage', json: JSON.stringify(event) });
      say({ type: 'state', state: 'speaking' });
      say({ type: 'transcript', role: 'user', segmentId: 'u1', text: 'What ti', final: false });
      say({ type: 'transcript', role: 'user', segmentId: 'u1', text: 'What time?', final: true });
      say({ type: 'transcript', role: 'agent', segmentId: 'a1', text: 'It is', final: false });
      say({ type: 'transcript', role: 'agent', segmentId: 'a1', text: 'It is noon', final: false });
      say({ type: 'transcript', role: 'agent', segmentId: 'a1', text: 'It is', final: true });
      say({ type: 'error', code: 'provider_error' });
      await expect.poll(() => caller.events, PATIENCE).toEqual([{ type: 'error', code: 'provider_error' }]);
      await expect.poll(() => caller.states.at(-1), PATIENCE).toBe('speaking');
      const user = { from: callerIdentity(room), segmentId: 'u1' };
      const agent = { from: agentIdentity(room), segmentId: 'a1' };
      await expect.poll(() => caller.texts.length, PATIENCE).toBe(4);
      // Each stream is read independently, and streams may finish in any order.
      for (const text of [
        { ...user, isFinal: false, text: 'What ti' },
        { ...user, isFinal: true, text: 'What time?' },
        { ...agent, isFinal: false, text: 'It is noon' },
        { ...agent, isFinal: true, text: 'It is' },
      ])
        expect(caller.texts).toContainEqual(text);
      await caller.send({ type: 'user.activity' }, 'another-topic');
      await caller.send({ type: 'user.interrupt' });
      expect(await log.next('message', undefined, LIMIT_MS)).toMatchObject({
        text: '{"type":"user.interrupt"}',
      });
      say({ type: 'session.ended', reason: 'agent_hangup' });
      leg.send({ do: 'close' });
      expect(await log.next('closed', undefined, LIMIT_MS)).toMatchObject({ reason: 'local' });
      await expect
        .poll(() => caller.events.at(-1), PATIENCE)
        .toEqual({ type: 'session.ended', reason: 'agent_hangup' });
      await caller.leave();
    },
  );

  itNeeds(NEEDS)('does not take a listener for the caller', async () => {
    const { room, log } = await open();
    const token = await rooms.token({ room, identity: 'monitor-1', role: 'monitor', ttlSeconds: 60 });
    const { Room } = await import('@livekit/rtc-node');
    const monitor = new Room();
    await monitor.connect(rooms.url, token, { autoSubscribe: true, dynacast: false });
    await expect.poll(() => monitor.remoteParticipants.size, PATIENCE).toBe(1);
    await monitor.disconnect();
    const caller = await join(room);
    await log.next('connected', undefined, LIMIT_MS);
    expect(caller.room.remoteParticipants.size).toBe(1);
    expect(log.all('connected')).toHaveLength(1);
    await caller.leave();
  });

  itNeeds(NEEDS)(
    'that was left for a successor stays in the room until the successor has joined it',
    PATIENCE,
    async () => {
      const { room, leg, log, caller } = await connect();
      leg.send({ do: 'close', keepsDialog: true, lingerMs: 15_000 });
      await systemClock.sleep(1_500);
      expect(log.all('closed')).toEqual([]);
      expect(caller.room.remoteParticipants.size).toBe(1);
      const successor = await openIn(room);
      await log.next('closed', undefined, LIMIT_MS);
      await successor.log.next('connected', undefined, LIMIT_MS);
      await expect.poll(() => caller.agentsHeard, PATIENCE).toBe(2);
      expect(successor.log.all('closed')).toEqual([]);
      await caller.leave();
    },
  );

  itNeeds(NEEDS)('ends as the caller’s hang-up when the room is deleted', async () => {
    const { room, log, caller } = await connect();
    await rooms.remove(room);
    expect(await log.next('closed', undefined, LIMIT_MS)).toMatchObject({ reason: 'remote' });
    await caller.leave();
  });

  itNeeds(NEEDS)(
    'keeps speaking after 20 quick interruptions, and leaves no room behind',
    { timeout: 60_000 },
    async () => {
      const { room, leg, log, caller } = await connect();
      for (let round = 0; round < 20; round++) {
        const replyId = `r${round}`;
        leg.send({
          do: 'play',
          replyId,
          pieceId: 0,
          samples: tone(leg.outRateHz, 2_000, 440),
          marks: Int32Array.of(),
          last: true,
        });
        await log.next('playout.started', (event) => event.replyId === replyId, LIMIT_MS);
        leg.send({ do: 'pause' });
        if (round % 2 === 0) leg.send({ do: 'resume' });
        leg.send({ do: 'clear' });
        await expect.poll(() => log.all('playout.cleared').length, PATIENCE).toBe(round + 1);
      }
      const before = caller.loudBlocks;
      leg.send({
        do: 'play',
        replyId: 'last',
        pieceId: 0,
        samples: tone(leg.outRateHz, 500, 440),
        marks: Int32Array.of(),
        last: true,
      });
      await log.next('playout.finished', (event) => event.replyId === 'last', LIMIT_MS);
      await expect.poll(() => caller.loudBlocks, PATIENCE).toBeGreaterThan(before + 30);
      await caller.leave();
      expect(await log.next('closed', undefined, LIMIT_MS)).toMatchObject({ reason: 'remote' });
      await rooms.remove(room);
      expect(await rooms.list()).not.toContain(room);
    },
  );

  itNeeds(NEEDS)(
    'continues from the same position after the server died and returned',
    { timeout: 120_000 },
    async () => {
      const { leg, log, caller } = await connect();
      const samples = tone(leg.outRateHz, 3_000, 440);
      leg.send({
        do: 'play',
        replyId: 'r',
        pieceId: 0,
        samples,
        marks: Int32Array.of(leg.outRateHz / 2),
        last: true,
      });
      leg.send({ do: 'sendMessage', json: '{"type":"state","state":"speaking"}' });
      await expect.poll(() => caller.states.at(-1), PATIENCE).toBe('speaking');
      await log.next('playout.mark', undefined, LIMIT_MS);
      await server.close();
      // The state changes while no participant is present.
      leg.send({ do: 'sendMessage', json: '{"type":"state","state":"listening"}' });
      server = await startLivekitServer({ port: server.port });
      await log.next('playout.finished', undefined, 60_000);
      leg.send({ do: 'sendMessage', json: '{"type":"error","code":"provider_error"}' });
      await expect.poll(() => caller.events.length, PATIENCE).toBe(1);
      const stateSeen = () =>
        [...caller.room.remoteParticipants.values()].at(0)?.attributes['lk.agent.state'];
      await expect.poll(stateSeen, PATIENCE).toBe('listening');
      await caller.leave();
      expect(await log.next('closed', undefined, LIMIT_MS)).toMatchObject({ reason: 'remote' });
    },
  );

  itNeeds(NEEDS)('reports an unreachable server', async () => {
    const token = await rooms.token({ room: 'x', identity: 'agent-x', role: 'agent', ttlSeconds: 60 });
    const nowhere = {
      url: 'ws://127.0.0.1:9',
      token,
      callerIdentity: 'user-x',
      recording: null,
      mayRejoin: true,
    };
    await expect(host.openLivekitLeg(nowhere)).rejects.toMatchObject({ code: 'gateway_unreachable' });
  });
});
