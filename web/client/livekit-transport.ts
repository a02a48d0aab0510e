/**
 * A LiveKit room with the agent in it: data topics, transcripts as text streams, the agent's state as a
 * participant attribute. This module and LiveKit's client are loaded when the first session uses a room.
 */
import {
  ConnectionError,
  ConnectionErrorReason,
  ConnectionState,
  type RemoteParticipant,
  Room,
  RoomEvent,
  type TextStreamReader,
  Track,
} from 'livekit-client';
import type { AgentState, ClientEvent } from '../../protocol/session-events.ts';
import { SessionError } from './events.ts';
import { JOIN_MS, LINGER_MS, type Transport, type TransportListener, WAITING } from './transport.ts';
import { formatClientEvent, parseAgentEvent, type RoomGrant } from './wire.ts';

const AGENT_EVENTS = 'agent-event';
const CLIENT_EVENTS = 'client-event';
const TRANSCRIPTION = 'lk.transcription';
const AGENT_STATE = 'lk.agent.state';

/** Creates a transport; its connection is not open yet. */
export function createLivekitTransport(grant: RoomGrant, listener: TransportListener): Transport {
  return new LivekitTransport(grant, listener);
}

class LivekitTransport implements Transport {
  // The session hangs up when the page is left; LiveKit's client would leave the room before that.
  readonly room = new Room({ disconnectOnPageLeave: false });
  readonly #grant: RoomGrant;
  readonly #listener: TransportListener;
  #sending: Promise<void> = Promise.resolve();

  constructor(grant: RoomGrant, listener: TransportListener) {
    this.#grant = grant;
    this.#listener = listener;
    this.room
      .on(RoomEvent.TrackSubscribed, (track, _publication, participant) => {
        if (participant.isAgent && track.kind === Track.Kind.Audio)
          listener.onVoice(new MediaStream([track.mediaStreamTrack]));
      })
      .on(RoomEvent.DataReceived, (payload, participant, _kind, topic) => {
        const event =
          participant?.isAgent && topic === AGENT_EVENTS
            ? parseAgentEvent(new TextDecoder().decode(payload))
            : null;
        if (event) listener.onEvent(event);
      })
      .on(RoomEvent.ParticipantAttributesChanged, (_changed, participant) => {
        if (participant.isAgent) this.#tellState(participant.attributes);
      })
      // An agent that rejoins, or is found when we rejoin, already has its state, so no change event follows.
      .on(RoomEvent.ParticipantConnected, (participant) => {
        if (participant.isAgent) this.#tellState(participant.attributes);
      })
      .on(RoomEvent.SignalReconnecting, () => listener.onReconnecting(true))
      .on(RoomEvent.Reconnecting, () => listener.onReconnecting(true))
      .on(RoomEvent.Reconnected, () => void this.#becomeWhole())
      .on(RoomEvent.Disconnected, () => listener.onLost());
    this.room.registerTextStreamHandler(TRANSCRIPTION, (reader, { identity }) => {
      // If a stream breaks, its segment stays unchanged: the final text follows, or the session is over.
      this.#readSegment(reader, identity).catch(() => undefined);
    });
  }

  async connect(microphone: MediaStream | null): Promise<void> {
    try {
      await this.room.connect(this.#grant.livekit_url, this.#grant.token);
      for (const track of microphone?.getAudioTracks() ?? [])
        await this.room.localParticipant.publishTrack(track, { source: Track.Source.Microphone });
    } catch (error) {
      throw failure(error);
    }
    this.#tellState((await this.#joinedAgent()).attributes);
  }

  async setMicrophone(microphone: MediaStream): Promise<void> {
    const [track] = microphone.getAudioTracks();
    const published = this.room.localParticipant.getTrackPublication(Track.Source.Microphone)?.audioTrack;
    if (!track || !published) throw new Error('No microphone audio is sent');
    await published.replaceTrack(track);
  }

  send(event: ClientEvent): void {
    if (!WAITING.has(event.type) && !this.#reachableAgent()) return;
    const data = new TextEncoder().encode(formatClientEvent(event));
    this.#sending = this.#sending.then(() => this.#deliver(data));
  }

  close(): void {
    // Without the agent, no last message can leave. A page that is closed runs no timer.
    if (this.#reachableAgent()) setTimeout(() => void this.room.disconnect(), LINGER_MS);
    else void this.room.disconnect();
  }

  /** Publishes once the agent is reachable. Tries again if the connection broke before anything was sent. */
  async #deliver(data: Uint8Array<ArrayBuffer>): Promise<void> {
    for (;;) {
      await this.#until(() => this.#reachableAgent());
      try {
        return await this.room.localParticipant.publishData(data, { reliable: true, topic: CLIENT_EVENTS });
      } catch {
        // If the connection is up, the message itself was rejected.
        if (this.room.state === ConnectionState.Connected) return;
      }
    }
  }

  /**
   * Reports the connection as restored once we and the agent are both back, because it is useless without the
   * agent. On a colleague's connection the agent has no state attribute.
   */
  async #becomeWhole(): Promise<void> {
    const { attributes } = await this.#until(() =>
      this.room.state === ConnectionState.Connected ? this.#agent() : undefined,
    );
    this.#tellState(attributes);
    this.#listener.onReconnecting(false);
  }

  /** Resolves once the agent is in the room. */
  #joinedAgent(): Promise<RemoteParticipant> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new SessionError('connection_failed', 'The agent could not be reached in time')),
        JOIN_MS,
      );
      void this.#until(() => this.#agent()).then((agent) => {
        clearTimeout(timer);
        resolve(agent);
      });
    });
  }

  #agent(): RemoteParticipant | undefined {
    return [...this.room.remoteParticipants.values()].find((participant) => participant.isAgent);
  }

  /**
   * The agent, if messages sent now will reach it. While our connection is being restored, the room still
   * lists its previous participants, and LiveKit's client drops messages. The server also drops messages to a
   * participant that is only listed; one with a state attribute has a working data connection.
   */
  #reachableAgent(): RemoteParticipant | undefined {
    const agent = this.room.state === ConnectionState.Connected ? this.#agent() : undefined;
    return agent?.attributes[AGENT_STATE] === undefined ? undefined : agent;
  }

  /** Resolves with the result of `find` as soon as it returns one. */
  #until<Found>(find: () => Found | undefined): Promise<Found> {
    return new Promise((resolve) => {
      const events = [
        RoomEvent.ParticipantConnected,
        RoomEvent.ParticipantAttributesChanged,
        RoomEvent.Reconnected,
      ] as const;
      const look = () => {
        const found = find();
        if (found === undefined) return;
        for (const event of events) this.room.off(event, look);
        resolve(found);
      };
      for (const event of events) this.room.on(event, look);
      look();
    });
  }

  #tellState(attributes: Readonly<Record<string, string>>): void {
    const state = attributes[AGENT_STATE];
    if (state !== undefined) this.#listener.onEvent({ type: 'state', state: state as AgentState });
  }

  /** Reads a segment's text: interim while its stream is open, final if its attributes say so. */
  async #readSegment(reader: TextStreamReader, identity: string): Promise<void> {
    const role = identity === this.room.localParticipant.identity ? 'user' : 'agent';
    const segmentId = reader.info.attributes?.['lk.segment_id'] ?? reader.info.id;
    const isFinal = () => reader.info.attributes?.['lk.transcription_final'] === 'true';
    let text = '';
    for await (const part of reader) {
      text += part;
      if (!isFinal()) this.#listener.onEvent({ type: 'transcript', role, segmentId, text, final: false });
    }
    if (isFinal()) this.#listener.onEvent({ type: 'transcript', role, segmentId, text, final: true });
  }
}

function failure(error: unknown): SessionError {
  if (error instanceof ConnectionError && error.reason === ConnectionErrorReason.NotAllowed)
    return new SessionError(
      'session_expired',
      'The session has ended or its token is no longer valid',
      error.status ?? null,
    );
  return new SessionError('connection_failed', 'The server cannot be reached');
}
