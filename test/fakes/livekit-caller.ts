/**
 * A third-party caller in a LiveKit room: LiveKit's own participant for Node, with a microphone, a speaker
 * and the topics of Parley's rooms.
 */
import {
  AudioFrame,
  AudioSource,
  AudioStream,
  LocalAudioTrack,
  ParticipantKind,
  type RemoteParticipant,
  type RemoteTrack,
  Room,
  RoomEvent,
  type TextStreamReader,
  TrackPublishOptions,
  TrackSource,
} from '@livekit/rtc-node';
import { systemClock } from '#base/clock.ts';

const RATE_HZ = 48_000;
/** Small enough for measurements. Larger blocks take less CPU, which is most of such a caller's. */
const BLOCK_MS = 10;
const LEAVES_WITHIN_MS = 10_000;
/** Above the level of coded silence. */
const LOUD = 1_000;

/** A transcript segment as received, partial or complete. */
export interface CaughtText {
  readonly from: string;
  readonly segmentId: string;
  readonly isFinal: boolean;
  readonly text: string;
}

/** A caller who has joined a room. */
export class LivekitCaller {
  readonly room = new Room();
  /** Events of the data topic, oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  readonly events: any[] = [];
  readonly texts: CaughtText[] = [];
  readonly states: string[] = [];
  /** Number of loud blocks of agent audio. */
  loudBlocks = 0;
  /** All agent audio, 48 kHz, with the arrival time of each block; empty unless recording is requested. */
  readonly heard: { readonly atMs: number; readonly samples: Int16Array }[] = [];
  agent: RemoteParticipant | null = null;
  /** When the audio of an agent was subscribed to, each time. */
  readonly subscribedAtMs: number[] = [];
  readonly #source = new AudioSource(RATE_HZ, 1, 200);
  #microphone = LocalAudioTrack.createAudioTrack('microphone', this.#source);
  #keepsAudio = false;
  #blockMs = BLOCK_MS;

  /**
   * Joins and subscribes to everything; publishes a microphone by default. Audio is sent and received in
   * blocks of `blockMs`, 10 by default.
   */
  static async join(
    url: string,
    token: string,
    { microphone = true, keepsAudio = false, blockMs = BLOCK_MS } = {},
  ): Promise<LivekitCaller> {
    const caller = new LivekitCaller();
    caller.#keepsAudio = keepsAudio;
    caller.#blockMs = blockMs;
    try {
      await caller.#join(url, token);
      if (microphone) await caller.#publish();
    } catch (error) {
      await caller.leave();
      throw error;
    }
    return caller;
  }

  /** Resolves when all audio has been sent, in real time. */
  async speak(samples: Int16Array): Promise<void> {
    const blockSamples = (RATE_HZ * this.#blockMs) / 1_000;
    for (let start = 0; start < samples.length; start += blockSamples) {
      const block = new Int16Array(blockSamples);
      block.set(samples.subarray(start, start + blockSamples));
      await this.#source.captureFrame(new AudioFrame(block, RATE_HZ, 1, blockSamples));
    }
  }

  /** Sends one client message. */
  async send(event: unknown, topic = 'client-event'): Promise<void> {
    await this.room.localParticipant?.publishData(new TextEncoder().encode(JSON.stringify(event)), {
      reliable: true,
      topic,
    });
  }

  /** Number of subscriptions to an agent's audio. */
  get agentsHeard(): number {
    return this.subscribedAtMs.length;
  }

  /** Complete segments of agent speech. */
  get agentSaid(): string[] {
    return this.texts
      .filter(({ from, isFinal }) => isFinal && from === this.agent?.identity)
      .map(({ text }) => text);
  }

  /** Hangs up as Parley's own client does, and leaves. */
  async hangUp(): Promise<void> {
    // The agent may close the room before the library has seen that the message was sent.
    await this.send({ type: 'user.hangup' }).catch(() => undefined);
    await this.leave();
  }

  /** Leaves without a word, as a client that hangs up or is about to rejoin. */
  async leave(): Promise<void> {
    // LiveKit's participant may wait for ever for its native part.
    const isGone = await Promise.race([
      this.room.disconnect().then(() => true),
      systemClock.sleep(LEAVES_WITHIN_MS).then(() => false),
    ]);
    if (!isGone)
      throw new Error(`LiveKit's participant did not leave the room within ${LEAVES_WITHIN_MS} ms`);
    await this.#microphone.close();
  }

  async #join(url: string, token: string): Promise<void> {
    this.room
      .on(RoomEvent.TrackSubscribed, (track, _publication, participant) => {
        if (participant.kind !== ParticipantKind.AGENT) return;
        this.agent = participant;
        this.subscribedAtMs.push(systemClock.now());
        this.#listen(track).catch(() => undefined);
      })
      .on(RoomEvent.DataReceived, (data, _participant, _kind, topic) => {
        if (topic === 'agent-event') this.events.push(JSON.parse(new TextDecoder().decode(data)));
      })
      .on(RoomEvent.ParticipantAttributesChanged, (changed) => {
        const state = changed['lk.agent.state'];
        if (state !== undefined) this.states.push(state);
      });
    this.room.registerTextStreamHandler('lk.transcription', (reader, { identity }) => {
      this.#readText(reader, identity).catch(() => undefined);
    });
    await this.room.connect(url, token, { autoSubscribe: true, dynacast: false });
  }

  async #publish(): Promise<void> {
    const options = new TrackPublishOptions({ source: TrackSource.SOURCE_MICROPHONE });
    const publish = () => this.room.localParticipant?.publishTrack(this.#microphone, options);
    try {
      await publish();
    } catch {
      // LiveKit's participant waits ten seconds for its server, which may be too short on a busy machine. The
      // server ignores a second request for the same track, so this is another one.
      await this.#microphone.close(false);
      this.#microphone = LocalAudioTrack.createAudioTrack('microphone', this.#source);
      await publish();
    }
  }

  async #readText(reader: TextStreamReader, from: string): Promise<void> {
    const { 'lk.segment_id': segmentId = '', 'lk.transcription_final': final } = reader.info.attributes ?? {};
    this.texts.push({ from, segmentId, isFinal: final === 'true', text: await reader.readAll() });
  }

  async #listen(track: RemoteTrack): Promise<void> {
    const stream = new AudioStream(track, {
      sampleRate: RATE_HZ,
      numChannels: 1,
      frameSizeMs: this.#blockMs,
    });
    for await (const { data } of stream) {
      if (this.#keepsAudio) this.heard.push({ atMs: systemClock.now(), samples: data });
      if (data.some((sample) => Math.abs(sample) > LOUD)) this.loudBlocks++;
    }
  }
}
