/**
 * A LiveKit room with the agent in it (supplement 5): data topics, transcripts as text streams, the agent's state as its participant attribute.
 * It is loaded, with LiveKit's client, when the first session comes with a room.
 */
import { ConnectionError, ConnectionErrorReason, type RemoteParticipant, Room, RoomEvent, type TextStreamReader, Track } from 'livekit-client';
import type { AgentState, ClientEvent } from '../../config/session-events.ts';
import { SessionError } from './events.ts';
import { JOIN_MS, LINGER_MS, type Transport, type TransportListener } from './transport.ts';
import { formatClientEvent, parseAgentEvent, type RoomGrant } from './wire.ts';

const AGENT_EVENTS = 'agent-event';
const CLIENT_EVENTS = 'client-event';
const TRANSCRIPTION = 'lk.transcription';
const AGENT_STATE = 'lk.agent.state';

/** Makes a connection that is not open yet. */
export function createLivekitTransport(grant: RoomGrant, listener: TransportListener): Transport {
  return new LivekitTransport(grant, listener);
}

class LivekitTransport implements Transport {
  readonly room = new Room();
  readonly #grant: RoomGrant;
  readonly #listener: TransportListener;
  #sending: Promise<void> = Promise.resolve();

  constructor(grant: RoomGrant, listener: TransportListener) {
    this.#grant = grant;
    this.#listener = listener;
    this.room
      .on(RoomEvent.TrackSubscribed, (track, _publication, participant) => {
        if (participant.isAgent && track.kind === Track.Kind.Audio) listener.onVoice(new MediaStream([track.mediaStreamTrack]));
      })
      .on(RoomEvent.DataReceived, (payload, participant, _kind, topic) => {
        const event = participant?.isAgent && topic === AGENT_EVENTS ? parseAgentEvent(new TextDecoder().decode(payload)) : null;
        if (event) listener.onEvent(event);
      })
      .on(RoomEvent.ParticipantAttributesChanged, (_changed, participant) => {
        if (participant.isAgent) this.#tellState(participant.attributes);
      })
      // One who comes back, or is found when we do, brings the state along without a change of it.
      .on(RoomEvent.ParticipantConnected, (participant) => {
        if (participant.isAgent) this.#tellState(participant.attributes);
      })
      .on(RoomEvent.SignalReconnecting, () => listener.onReconnecting(true))
      .on(RoomEvent.Reconnecting, () => listener.onReconnecting(true))
      .on(RoomEvent.Reconnected, () => {
        listener.onReconnecting(false);
        for (const participant of this.room.remoteParticipants.values()) if (participant.isAgent) this.#tellState(participant.attributes);
      })
      .on(RoomEvent.Disconnected, () => listener.onLost());
    this.room.registerTextStreamHandler(TRANSCRIPTION, (reader, { identity }) => {
      // A stream that breaks off leaves its segment as it was; the final one follows or the session is over.
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
    this.#tellState((await this.#agent()).attributes);
  }

  async setMicrophone(microphone: MediaStream): Promise<void> {
    const [track] = microphone.getAudioTracks();
    const published = this.room.localParticipant.getTrackPublication(Track.Source.Microphone)?.audioTrack;
    if (!track || !published) throw new Error('No microphone is sent');
    await published.replaceTrack(track);
  }

  /**
   * What is sent while the agent is not in the room, as after a restart of the room's server, waits for it. One who has told its state has a connection that
   * carries data; what is sent to one who is merely listed, the server drops.
   */
  send(event: ClientEvent): void {
    const data = new TextEncoder().encode(formatClientEvent(event));
    this.#sending = this.#sending
      .then(() => this.#agent(hasState))
      .then(() => this.room.localParticipant.publishData(data, { reliable: true, topic: CLIENT_EVENTS }))
      .catch(() => undefined);
  }

  close(): void {
    setTimeout(() => void this.room.disconnect(), LINGER_MS);
  }

  /** The agent, as soon as it is in the room, and is as asked. */
  #agent(isReady: (agent: RemoteParticipant) => boolean = () => true): Promise<RemoteParticipant> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new SessionError('connection_failed', 'The agent could not be reached in time')), JOIN_MS);
      const look = () => {
        const agent = [...this.room.remoteParticipants.values()].find((participant) => participant.isAgent);
        if (!agent || !isReady(agent)) return;
        clearTimeout(timer);
        this.room.off(RoomEvent.ParticipantConnected, look).off(RoomEvent.ParticipantAttributesChanged, look);
        resolve(agent);
      };
      this.room.on(RoomEvent.ParticipantConnected, look).on(RoomEvent.ParticipantAttributesChanged, look);
      look();
    });
  }

  #tellState(attributes: Readonly<Record<string, string>>): void {
    const state = attributes[AGENT_STATE];
    if (state !== undefined) this.#listener.onEvent({ type: 'state', state: state as AgentState });
  }

  /** A segment's text: as far as it has come while its stream is open, final where its attributes say so. */
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

function hasState({ attributes }: RemoteParticipant): boolean {
  return attributes[AGENT_STATE] !== undefined;
}

function failure(error: unknown): SessionError {
  if (error instanceof ConnectionError && error.reason === ConnectionErrorReason.NotAllowed)
    return new SessionError('session_expired', 'The session has ended or its token is no longer valid', error.status ?? null);
  return new SessionError('connection_failed', 'The server cannot be reached');
}
