/**
 * How a leg handles data that overtakes a participant update: LiveKit sends the two over separate paths, and
 * a fake room decides which arrives first.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { EventBatcher, unpackEvents } from '#media/leg/event-batch.ts';
import type { LegEvent } from '#media/leg/leg.ts';
import { Pacer } from '#media/leg/pacer.ts';
import type { TransportLeg } from '#media/leg/transport-leg.ts';
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

const OTHER = { identity: 'other', trackPublications: new Map() };

describe('a leg in a room whose data overtakes participant updates', () => {
  const events = new EventBatcher();
  const clock = new ManualClock();
  const pacer = new Pacer(clock, () => undefined, manualThread(clock));
  const detector = new SpeechDetector(systemClock, () => undefined);
  const reported: LegEvent[] = [];
  let leg: TransportLeg;
  let room: FakeRoom;

  beforeEach(async () => {
    const shared = mediaShared({ clock, pacer, events, detector });
    const options = {
      leg: 1,
      url: 'ws://nowhere',
      token: '',
      callerIdentity: CALLER.identity,
      recording: null,
      mayRejoin: true,
      onClosed: () => undefined,
    };
    ({ leg } = await openLivekitSession(options, shared));
    room = FakeRoom.last;
  });
  afterEach(async () => {
    await leg.close();
    reported.length = 0;
  });

  const send = (text: string, from: unknown) =>
    room.emit('dataReceived', new TextEncoder().encode(text), from, 0, 'client-event');
  const messages = () => {
    const taken = events.take(Number.POSITIVE_INFINITY);
    if (taken) reported.push(...(unpackEvents(taken.batch).get(1) ?? []));
    return reported.filter((event) => event.type === 'message').map(({ text }) => text);
  };

  it('holds data until the caller’s arrival is reported; data from one who has left is delivered at once', () => {
    send('early', undefined);
    expect(messages()).toEqual([]);
    room.emit('participantConnected', CALLER);
    send('before', CALLER);
    room.emit('participantDisconnected', CALLER);
    send('first', undefined);
    send('second', undefined);
    // Such as the hang-up of a client that leaves right after it.
    expect(messages()).toEqual(['early', 'before', 'first', 'second']);
    room.emit('participantConnected', CALLER);
    send('third', CALLER);
    expect(messages()).toEqual(['early', 'before', 'first', 'second', 'third']);
  });

  it('ignores other participants and, while the caller is present, unlisted senders', () => {
    send('from another participant', OTHER);
    room.emit('participantConnected', CALLER);
    send('from another participant', OTHER);
    send('from no participant', undefined);
    expect(messages()).toEqual([]);
  });

  it('sends no state while reconnecting, because clients expect data with it; sends the latest after', () => {
    const sendState = (state: string) =>
      leg.command({ do: 'sendMessage', json: JSON.stringify({ type: 'state', state }) });
    sendState('speaking');
    room.emit('reconnecting');
    sendState('thinking');
    sendState('listening');
    expect(room.attributes).toEqual([{ 'lk.agent.state': 'speaking' }]);
    room.emit('reconnected');
    expect(room.attributes).toEqual([{ 'lk.agent.state': 'speaking' }, { 'lk.agent.state': 'listening' }]);
  });
});
