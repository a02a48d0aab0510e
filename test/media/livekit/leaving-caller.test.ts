/** When a leg ends because its caller left the room, or because another worker has the call. */
import { DisconnectReason } from '@livekit/rtc-node';
import { describe, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { EventBatcher, unpackEvents } from '#media/leg/event-batch.ts';
import { Pacer } from '#media/leg/pacer.ts';
import { openLivekitSession } from '#media/livekit/livekit-leg.ts';
import { SpeechDetector } from '#media/voice-activity/vad.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { manualThread } from '../../fakes/manual-thread.ts';
import { mediaShared } from '../../fakes/media-shared.ts';
import { CALLER, FakeRoom } from './fake-room.ts';

vi.mock('@livekit/rtc-node', async () => ({
  ...(await import('node:module')).createRequire(import.meta.url)('@livekit/rtc-node'),
  ...(await import('./fake-room.ts')).FAKE_LIBRARY,
}));

/** A leg whose caller is in the room. */
async function openLeg({ mayRejoin = true } = {}) {
  const clock = new ManualClock();
  const events = new EventBatcher();
  const shared = mediaShared({
    clock,
    pacer: new Pacer(clock, () => undefined, manualThread(clock)),
    events,
    detector: new SpeechDetector(systemClock, () => undefined),
  });
  const { leg } = await openLivekitSession(
    {
      leg: 1,
      url: 'ws://nowhere',
      token: '',
      callerIdentity: CALLER.identity,
      recording: null,
      mayRejoin,
      onClosed: () => undefined,
    },
    shared,
  );
  const room = FakeRoom.last;
  const take = () => {
    const batch = events.take(Number.POSITIVE_INFINITY)?.batch;
    return batch ? (unpackEvents(batch).get(1) ?? []) : [];
  };
  room.emit('participantConnected', CALLER);
  return {
    clock,
    moveToAnotherWorker: () => leg.command({ do: 'close', keepsDialog: true, lingerMs: 5_000 }),
    loseConnection: () => {
      room.isReconnecting = true;
      room.emit('reconnecting');
    },
    recoverConnection: () => {
      room.isReconnecting = false;
      room.emit('reconnected');
    },
    /** The agent is in the room, or will be once its connection is back. */
    isInRoom: async () => {
      await clock.advance(0);
      return room.isConnected;
    },
    leave: (reason: DisconnectReason) =>
      room.emit('participantDisconnected', { ...CALLER, disconnectReason: reason }),
    rejoin: () => room.emit('participantConnected', CALLER),
    /** The server reports the subscription; `isReached`: the connection behind it exists. */
    subscribe: ({ isReached = true } = {}) => {
      room.isReached = isReached;
      room.emit('localTrackSubscribed');
    },
    connect: () => {
      room.isReached = true;
    },
    /** Where the caller is, and since when; each change once. */
    presence: async () => {
      await clock.advance(0);
      return take().flatMap((event) =>
        event.type === 'connected' || event.type === 'away' || event.type === 'back'
          ? [[event.type, event.atMs]]
          : [],
      );
    },
    /** The reason and time of the end, once. */
    end: async () => {
      await clock.advance(0);
      return take().flatMap((event) => (event.type === 'closed' ? [[event.reason, event.atMs]] : []));
    },
  };
}

const { CLIENT_INITIATED, SIGNAL_CLOSE, PARTICIPANT_REMOVED } = DisconnectReason;

describe('a leg whose caller leaves the room', () => {
  it.each([
    ['leaves', CLIENT_INITIATED],
    ['loses the connection', SIGNAL_CLOSE],
  ])('continues if a caller who %s is back within 15 s, as clients that reconnect are', async (_, reason) => {
    const leg = await openLeg();
    await leg.clock.advance(5_000);
    leg.leave(reason);
    await leg.clock.advance(14_000);
    leg.rejoin();
    await leg.clock.advance(60_000);
    expect(await leg.end()).toEqual([]);
  });

  it('reports the caller as away until they can hear the agent again', async () => {
    const leg = await openLeg();
    leg.subscribe();
    await leg.clock.advance(5_000);
    leg.leave(CLIENT_INITIATED);
    await leg.clock.advance(1_000);
    leg.rejoin();
    await leg.clock.advance(500);
    leg.subscribe();
    expect(await leg.presence()).toEqual([
      ['connected', 0],
      ['away', 5_000],
      ['back', 6_500],
    ]);
  });

  it('begins once the caller can be reached, not when the server reports their subscription', async () => {
    const leg = await openLeg();
    await leg.clock.advance(300);
    leg.subscribe({ isReached: false });
    await leg.clock.advance(500);
    expect(await leg.presence()).toEqual([]);
    leg.connect();
    await leg.clock.advance(300);
    expect(await leg.presence()).toEqual([['connected', 900]]);
  });

  it('begins after 2 s in the room with a caller who cannot be reached', async () => {
    const leg = await openLeg();
    leg.subscribe({ isReached: false });
    await leg.clock.advance(1_900);
    expect(await leg.presence()).toEqual([]);
    await leg.clock.advance(200);
    expect(await leg.presence()).toEqual([['connected', 2_000]]);
  });

  it('ends as of the moment the caller left, if the caller is not back within 15 s', async () => {
    const leg = await openLeg();
    await leg.clock.advance(5_000);
    leg.leave(CLIENT_INITIATED);
    await leg.clock.advance(14_900);
    expect(await leg.end()).toEqual([]);
    await leg.clock.advance(200);
    expect(await leg.end()).toEqual([['remote', 5_000]]);
  });

  it('ends at once if the server removed the caller', async () => {
    const leg = await openLeg();
    await leg.clock.advance(5_000);
    leg.leave(PARTICIPANT_REMOVED);
    expect(await leg.end()).toEqual([['remote', 5_000]]);
  });

  it('ends at once if a colleague leaves, so that the agent can continue', async () => {
    const leg = await openLeg({ mayRejoin: false });
    leg.leave(CLIENT_INITIATED);
    expect(await leg.end()).toEqual([['remote', 0]]);
  });
});

describe('a leg whose call another worker has', () => {
  it('leaves the room if the successor does not come', async () => {
    const leg = await openLeg();
    leg.moveToAnotherWorker();
    await leg.clock.advance(4_900);
    expect(await leg.end()).toEqual([]);
    await leg.clock.advance(1_000);
    expect(await leg.end()).toEqual([['local', 5_000]]);
  });

  it('does not reconnect to the room, because that would put the successor out', async () => {
    const leg = await openLeg();
    leg.subscribe();
    leg.moveToAnotherWorker();
    await leg.clock.advance(1_000);
    expect(await leg.isInRoom()).toBe(true);
    leg.loseConnection();
    expect(await leg.isInRoom()).toBe(false);
    expect(await leg.end()).toEqual([['local', 1_000]]);
  });

  it('leaves at once if it is left for the successor while it reconnects', async () => {
    const leg = await openLeg();
    leg.subscribe();
    await leg.clock.advance(1_000);
    leg.loseConnection();
    await leg.clock.advance(1_000);
    leg.moveToAnotherWorker();
    expect(await leg.isInRoom()).toBe(false);
    expect(await leg.end()).toEqual([['local', 2_000]]);
  });

  it('stays for the successor if it has reconnected before', async () => {
    const leg = await openLeg();
    leg.subscribe();
    leg.loseConnection();
    await leg.clock.advance(1_000);
    leg.recoverConnection();
    leg.moveToAnotherWorker();
    await leg.clock.advance(4_900);
    expect(await leg.isInRoom()).toBe(true);
    await leg.clock.advance(100);
    expect(await leg.isInRoom()).toBe(false);
  });
});
