/**
 * Tests when a visitor's messages are sent while the room or the agent is away; a fake room decides which
 * returns first.
 */
import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ClientEvent } from '#protocol/session-events.ts';

/** Imported by path only, because browser types differ from those of the tests. */
const TRANSPORT = '../../web/client/livekit-transport.ts';

/** The part of a transport used here. */
interface Transport {
  readonly room: object;
  connect(microphone: null): Promise<void>;
  send(event: ClientEvent): void;
  close(): void;
}

/** A room as seen by LiveKit's browser client. Messages published on a broken connection are lost. */
class FakeRoom extends EventEmitter {
  state = 'connected';
  readonly remoteParticipants = new Map<string, { isAgent: boolean; attributes: Record<string, string> }>();
  readonly arrived: unknown[] = [];
  /** Error of the next publication, raised after it has happened. */
  failing: (() => Error) | null = null;
  readonly localParticipant = {
    publishData: async (data: Uint8Array) => {
      const failure = this.failing?.();
      this.failing = null;
      if (failure) throw failure;
      if (this.state === 'connected')
        this.arrived.push(JSON.parse(new TextDecoder().decode(data)).text ?? 'no text');
    },
  };

  hasLeft = false;

  async connect(): Promise<void> {}

  async disconnect(): Promise<void> {
    this.hasLeft = true;
  }

  registerTextStreamHandler(): void {}

  agentComes(attributes: Record<string, string>): void {
    const agent = { isAgent: true, attributes };
    this.remoteParticipants.set('agent', agent);
    this.emit('participantConnected', agent);
  }

  agentTells(state: string): void {
    const agent = this.remoteParticipants.get('agent')!;
    agent.attributes['lk.agent.state'] = state;
    this.emit('participantAttributesChanged', { 'lk.agent.state': state }, agent);
  }

  breaks(): void {
    this.state = 'signalReconnecting';
    this.emit('signalReconnecting');
  }

  isBack(): void {
    this.state = 'connected';
    this.emit('reconnected');
  }
}

vi.mock('livekit-client', () => ({
  ConnectionError: class extends Error {},
  ConnectionErrorReason: { NotAllowed: 0 },
  ConnectionState: { Connected: 'connected' },
  Room: FakeRoom,
  RoomEvent: {
    TrackSubscribed: 'trackSubscribed',
    DataReceived: 'dataReceived',
    ParticipantAttributesChanged: 'participantAttributesChanged',
    ParticipantConnected: 'participantConnected',
    SignalReconnecting: 'signalReconnecting',
    Reconnecting: 'reconnecting',
    Reconnected: 'reconnected',
    Disconnected: 'disconnected',
  },
  Track: { Kind: { Audio: 'audio' }, Source: { Microphone: 'microphone' } },
}));

const LISTENING = { 'lk.agent.state': 'listening' };
const message = (text: string): ClientEvent => ({ type: 'user.message', text });

/** Runs all due work without waiting for timers. */
const settle = () => new Promise((done) => setImmediate(done));

describe('a page in a LiveKit room', () => {
  let transport: Transport;
  let room: FakeRoom;
  let notices: unknown[];

  beforeEach(async () => {
    notices = [];
    const listener = {
      onEvent: (event: unknown) => notices.push(event),
      onVoice: () => undefined,
      onReconnecting: (isReconnecting: boolean) => notices.push(isReconnecting ? 'reconnecting' : 'whole'),
      onLost: () => notices.push('lost'),
    };
    const { createLivekitTransport } = await import(TRANSPORT);
    transport = createLivekitTransport({ livekit_url: '', token: '' }, listener) as Transport;
    room = transport.room as FakeRoom;
    room.agentComes({ ...LISTENING });
    await transport.connect(null);
    notices.length = 0;
  });

  it('keeps messages while the room reconnects, even with the agent listed, and sends them once', async () => {
    room.breaks();
    transport.send(message('first'));
    transport.send(message('second'));
    await settle();
    room.isBack();
    transport.send(message('third'));
    await settle();
    expect(room.arrived).toEqual(['first', 'second', 'third']);
  });

  it('recovers when the agent returns, and sends messages once the agent has sent its state', async () => {
    room.breaks();
    room.remoteParticipants.clear();
    room.isBack();
    transport.send(message('Who are you?'));
    await settle();
    expect([notices, room.arrived]).toEqual([['reconnecting'], []]);
    room.agentComes({});
    await settle();
    expect([notices, room.arrived]).toEqual([['reconnecting', 'whole'], []]);
    room.agentTells('listening');
    await settle();
    expect([notices.at(-1), room.arrived]).toEqual([{ type: 'state', state: 'listening' }, ['Who are you?']]);
  });

  it('leaves at once if no hang-up can be sent, because a closed page runs no timer', () => {
    room.breaks();
    transport.send({ type: 'user.hangup' });
    transport.close();
    expect(room.hasLeft).toBe(true);
  });

  it('stays until its hang-up has left', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      transport.send({ type: 'user.hangup' });
      transport.close();
      await settle();
      expect([room.arrived, room.hasLeft]).toEqual([['no text'], false]);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(room.hasLeft).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  it('waits for the agent as long as the room exists, and drops messages tied to their moment', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      room.remoteParticipants.clear();
      transport.send(message('Who are you?'));
      transport.send({ type: 'user.interrupt' });
      await settle();
      await vi.advanceTimersByTimeAsync(60_000);
      room.agentComes({ ...LISTENING });
      await settle();
      expect(room.arrived).toEqual(['Who are you?']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('resends messages rejected by a breaking connection, but not those rejected for their content', async () => {
    room.failing = () => {
      room.breaks();
      return new Error('the channel is closed');
    };
    transport.send(message('Who are you?'));
    await settle();
    room.isBack();
    await settle();
    room.failing = () => new Error('too large');
    transport.send(message('a novel'));
    transport.send(message('Are you there?'));
    await settle();
    expect(room.arrived).toEqual(['Who are you?', 'Are you there?']);
  });
});
