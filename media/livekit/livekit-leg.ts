/**
 * A caller in a LiveKit room as a leg: the agent's participant joins with its own token, publishes one track,
 * subscribes to the caller's voice, and uses the data topics, text streams and attribute of Parley's rooms
 * (docs/livekit.md). The native LiveKit library is loaded with the first room, or before.
 */
import type { EventEmitter } from 'node:events';
import type {
  AudioStream,
  DisconnectReason,
  RemoteParticipant,
  RemoteTrack,
  RemoteTrackPublication,
  Room,
} from '@livekit/rtc-node';
import type { Timer } from '#base/clock.ts';
import { fault } from '#config/errors.ts';
import { FRAME_MS } from '../dsp/frame.ts';
import type { LegCloseReason, LegStats } from '../leg/leg.ts';
import type { MediaShared } from '../leg/leg-audio.ts';
import type { LivekitLegOptions } from '../leg/leg-factory.ts';
import type { OpenedLeg, TransportLeg } from '../leg/transport-leg.ts';
import { IN_RATE_HZ, NO_STATS, STATS_TIMEOUT_MS, WebLeg, type WebTransport } from '../leg/web-leg.ts';
import { AgentTrack } from './agent-track.ts';
import { reachCaller } from './reach-caller.ts';
import { RoomInbox } from './room-inbox.ts';
import { CLIENT_EVENTS } from './room-messages.ts';
import { RoomOutbox } from './room-outbox.ts';

type Library = typeof import('@livekit/rtc-node');

const JOIN_TIMEOUT_MS = 10_000;
/** A caller in the room who is not known to hear the agent's voice is greeted after this long. */
const AUDIBLE_TIMEOUT_MS = 2_000;
/** How long a caller who lost the connection, or left and may rejoin, may take to come back. */
const RETURN_TIMEOUT_MS = 15_000;
/** Longest wait for the last messages to be sent, and then for the caller to read them and leave. */
const FLUSH_TIMEOUT_MS = 500;
const LEAVE_TIMEOUT_MS = 300;

/** Options of a room leg beyond those of all legs. */
export interface LivekitSessionOptions extends LivekitLegOptions {
  readonly leg: number;
  readonly onClosed: () => void;
}

/** Joins the room; throws `Fault('gateway_unreachable')` if that fails. */
export async function openLivekitSession(
  options: LivekitSessionOptions,
  shared: MediaShared,
): Promise<{ leg: TransportLeg; opened: OpenedLeg }> {
  const library = await import('@livekit/rtc-node');
  const session = new LivekitSession(library, options, shared);
  try {
    await within(session.join(), JOIN_TIMEOUT_MS, shared);
  } catch (error) {
    session.leg.abandon();
    // The failed URL may contain the token: only the kind of failure is reported.
    throw fault('gateway_unreachable', {}, { cause: error });
  }
  return { leg: session.leg, opened: session.leg.opened(null) };
}

/** Loads and starts the native library, which would delay the first room. Throws if it cannot be loaded. */
export async function warmUpLivekit(): Promise<void> {
  const library = await import('@livekit/rtc-node');
  await new AgentTrack(library, () => undefined).track.close();
}

class LivekitSession implements WebTransport {
  readonly leg: WebLeg;
  readonly #library: Library;
  readonly #options: LivekitSessionOptions;
  readonly #shared: MediaShared;
  readonly #room: Room;
  readonly #voice: AgentTrack;
  readonly #inbox: RoomInbox;
  readonly #outbox: RoomOutbox;
  /** Resolves once the caller can hear. */
  readonly #heard = Promise.withResolvers<void>();
  #callerGone = Promise.withResolvers<void>();
  #listening: RemoteTrack | null = null;
  #timer: Timer | null = null;
  /** The caller is in the room. */
  #isCallerHere = false;
  /** When the caller left, while they may come back, ms. */
  #leftMs: number | null = null;
  /** Somebody in the room has subscribed to the agent's track since the caller came. */
  #isSubscribed = false;
  #reaching: Timer | null = null;
  #isAudible = false;
  #isReconnecting = false;

  constructor(library: Library, options: LivekitSessionOptions, shared: MediaShared) {
    this.#library = library;
    this.#options = options;
    this.#shared = shared;
    this.#inbox = new RoomInbox(shared, (text) => this.leg.receive(text));
    this.#voice = new AgentTrack(library, (error) => {
      if (!this.leg.isEnding) shared.log('warn', 'the room library refused a block of audio', error);
    });
    this.#room = new library.Room();
    const { callerIdentity } = options;
    this.#outbox = new RoomOutbox({
      room: this.#room,
      callerIdentity,
      log: shared.log,
      heard: this.#heard.promise,
    });
    const { leg, recording, onClosed } = options;
    this.leg = new WebLeg(
      { leg, recording, onClosed, failure: 'a room leg failed and is closed' },
      this,
      shared,
    );
    const { RoomEvent } = library;
    this.#room
      .on(RoomEvent.ParticipantConnected, (participant) => this.#came(participant))
      .on(RoomEvent.ParticipantDisconnected, (participant) => this.#left(participant))
      .on(RoomEvent.TrackPublished, (publication, participant) => this.#subscribe(publication, participant))
      .on(RoomEvent.TrackUnpublished, (_publication, participant) => this.#subscribeToNewest(participant))
      .on(RoomEvent.TrackSubscribed, (track, _publication, participant) => this.#listenTo(track, participant))
      .on(RoomEvent.LocalTrackSubscribed, () => {
        this.#isSubscribed = true;
        this.#reach();
      })
      .on(RoomEvent.DataReceived, (payload, participant, _kind, topic) =>
        this.#receive(payload, participant, topic),
      )
      .on(RoomEvent.Reconnecting, () => this.#reconnecting(true))
      .on(RoomEvent.Reconnected, () => this.#reconnecting(false))
      .on(RoomEvent.Disconnected, (reason) => this.#lost(reason));
  }

  /** Connects, publishes the agent's voice and reads the participants. */
  async join(): Promise<void> {
    const { url, token } = this.#options;
    await this.#room.connect(url, token, { autoSubscribe: false, dynacast: false });
    if (this.leg.isEnding) {
      await this.#room.disconnect();
      return;
    }
    const { TrackPublishOptions, TrackSource } = this.#library;
    await this.#room.localParticipant?.publishTrack(
      this.#voice.track,
      new TrackPublishOptions({ source: TrackSource.SOURCE_MICROPHONE }),
    );
    for (const participant of this.#room.remoteParticipants.values()) this.#came(participant);
  }

  /** While the connection recovers, a reply waits instead of being lost. */
  get canSend(): boolean {
    return this.#isCallerHere && this.#isAudible && !this.#isReconnecting;
  }

  /** Back in the room after a lost connection, it would put its successor out. */
  get canLinger(): boolean {
    return !this.#isReconnecting;
  }

  sendFrame(frame: Int16Array): void {
    if (!this.#voice.capture(frame)) throw new Error('the library no longer takes audio');
  }

  sendMessage(json: string): void {
    this.#outbox.send(json);
  }

  stopTimers(): void {
    this.#timer?.cancel();
    this.#reaching?.cancel();
    this.#outbox.close();
  }

  #isCaller(participant: RemoteParticipant | undefined): boolean {
    return participant?.identity === this.#options.callerIdentity;
  }

  #came(participant: RemoteParticipant): void {
    if (this.leg.isEnding || !this.#isCaller(participant)) return;
    this.#isCallerHere = true;
    this.#leftMs = null;
    this.#callerGone = Promise.withResolvers();
    this.#inbox.setOpen(true);
    this.#timer?.cancel();
    for (const publication of participant.trackPublications.values())
      this.#subscribe(publication, participant);
    if (this.#isAudible) this.#connected();
    else this.#timer = this.#shared.clock.after(AUDIBLE_TIMEOUT_MS, () => this.#becameAudible());
    this.#reach();
  }

  /** The subscription exists; the caller hears once the connection behind it does. */
  #reach(): void {
    if (!this.#isSubscribed || !this.#isCallerHere || this.#isAudible || this.leg.isEnding) return;
    this.#reaching?.cancel();
    this.#reaching = reachCaller(this.#room, {
      identity: this.#options.callerIdentity,
      clock: this.#shared.clock,
      library: this.#library,
      onReached: () => this.#becameAudible(),
    });
  }

  #left(participant: RemoteParticipant): void {
    if (!this.#isCaller(participant)) return;
    this.#isCallerHere = false;
    // A caller who returns subscribes to the agent's track again.
    this.#isAudible = false;
    this.#isSubscribed = false;
    this.#reaching?.cancel();
    this.#inbox.setOpen(false);
    this.#callerGone.resolve();
    if (this.leg.isEnding) return;
    this.#timer?.cancel();
    const leftMs = this.#shared.clock.now();
    this.#leftMs = leftMs;
    const end = () => void this.leg.end('remote', leftMs);
    const { disconnectReason } = participant;
    const hasLeft = disconnectReason === this.#library.DisconnectReason.CLIENT_INITIATED;
    if (this.#isRemoval(disconnectReason) || (hasLeft && !this.#options.mayRejoin)) end();
    else {
      this.leg.setAway(true);
      this.#timer = this.#shared.clock.after(RETURN_TIMEOUT_MS, end);
    }
  }

  /** The server removed the participant, who cannot come back. */
  #isRemoval(reason: DisconnectReason | undefined): boolean {
    const { PARTICIPANT_REMOVED, ROOM_DELETED, ROOM_CLOSED } = this.#library.DisconnectReason;
    return reason === PARTICIPANT_REMOVED || reason === ROOM_DELETED || reason === ROOM_CLOSED;
  }

  #subscribe(publication: RemoteTrackPublication, participant: RemoteParticipant): void {
    if (!this.#isCaller(participant) || publication.kind !== this.#library.TrackKind.KIND_AUDIO) return;
    // One track at a time: a caller may publish any number.
    for (const other of participant.trackPublications.values())
      if (other !== publication && other.subscribed) other.setSubscribed(false);
    publication.setSubscribed(true);
  }

  /** The track in use has ended: an earlier one may still exist. */
  #subscribeToNewest(participant: RemoteParticipant): void {
    const newest = [...participant.trackPublications.values()].findLast(
      ({ kind }) => kind === this.#library.TrackKind.KIND_AUDIO,
    );
    if (newest && !newest.subscribed) this.#subscribe(newest, participant);
  }

  #listenTo(track: RemoteTrack, participant: RemoteParticipant): void {
    if (
      this.leg.isEnding ||
      !this.#isCaller(participant) ||
      track.kind !== this.#library.TrackKind.KIND_AUDIO
    )
      return;
    this.#listening?.closeAudioStreams();
    this.#listening = track;
    const stream = new this.#library.AudioStream(track, {
      sampleRate: IN_RATE_HZ,
      numChannels: 1,
      frameSizeMs: FRAME_MS,
    });
    this.#read(stream).catch((error: unknown) => this.leg.fail(error));
  }

  /** The only reader of a stream; it ends with its track. */
  async #read(stream: AudioStream): Promise<void> {
    for await (const { data } of stream) this.leg.hear(data);
  }

  #becameAudible(): void {
    this.#reaching?.cancel();
    this.#isAudible = true;
    if (this.#isCallerHere) this.#connected();
  }

  /** The caller can hear the agent, for the first time or again. */
  #connected(): void {
    if (this.leg.isEnding) return;
    this.#timer?.cancel();
    this.#timer = null;
    if (!this.leg.isConnected) this.leg.connected();
    this.#heard.resolve();
    this.leg.setAway(!this.canSend);
  }

  #reconnecting(isReconnecting: boolean): void {
    this.#isReconnecting = isReconnecting;
    if (this.leg.isMoved && !this.canLinger) void this.leg.end('local');
    this.#outbox.setReconnecting(isReconnecting);
    this.leg.setAway(!this.canSend);
  }

  /** The library gave up reconnecting, the server removed us, or the successor is there. */
  #lost(reason: DisconnectReason): void {
    if (this.leg.isEnding) return;
    const name = this.#library.DisconnectReason[reason];
    if (!this.leg.isMoved)
      this.#shared.log('warn', 'the connection to the room was lost; the leg ends', name);
    // A caller who had left is not waited for on another leg.
    const isOver = this.#isRemoval(reason) || this.#leftMs !== null;
    void this.leg.end(isOver ? 'remote' : 'failed', this.#leftMs ?? undefined);
  }

  #receive(payload: Uint8Array, participant: RemoteParticipant | undefined, topic: string | undefined): void {
    if (this.leg.isEnding || topic !== CLIENT_EVENTS) return;
    this.#inbox.take(payload, participant ? this.#isCaller(participant) : null);
  }

  async finish(reason: LegCloseReason): Promise<LegStats> {
    // The room is left at once: with each wait, a connection that is lost could come back.
    if (this.leg.isMoved) return NO_STATS;
    if (reason === 'local' && this.leg.isConnected) {
      await within(this.#outbox.flushed, FLUSH_TIMEOUT_MS, this.#shared).catch(() => undefined);
      if (this.#isCallerHere)
        await within(this.#callerGone.promise, LEAVE_TIMEOUT_MS, this.#shared).catch(() => undefined);
    }
    return this.#room.isConnected
      ? within(this.#stats(), STATS_TIMEOUT_MS, this.#shared).catch(() => NO_STATS)
      : NO_STATS;
  }

  async release(): Promise<void> {
    try {
      this.#listening?.closeAudioStreams();
      await this.#room.disconnect();
      stopListening(this.#room);
      await this.#voice.track.close();
    } catch (error) {
      this.#shared.log('warn', 'the room could not be left', error);
    }
  }

  async #stats(): Promise<LegStats> {
    const { publisherStats, subscriberStats } = await this.#room.getRtcStats();
    const stats = { ...NO_STATS };
    for (const { stats: entry } of [...publisherStats, ...subscriberStats]) {
      if (entry.case === 'inboundRtp' && entry.value.stream?.kind === 'audio') {
        const { packetsReceived, packetsLost, jitter } = entry.value.received ?? {};
        stats.packetsReceived += Number(packetsReceived ?? 0);
        stats.packetsLost += Math.max(0, Number(packetsLost ?? 0));
        stats.jitterMs = (jitter ?? 0) * 1000;
      }
      if (entry.case === 'outboundRtp' && entry.value.stream?.kind === 'audio')
        stats.packetsSent += Number(entry.value.sent?.packetsSent ?? 0);
    }
    return stats;
  }
}

/**
 * Of a room that the server has ended, the library keeps its listener: every event of all other rooms would
 * pass through it.
 */
function stopListening(room: Room): void {
  const { onFfiEvent } = room as unknown as { readonly onFfiEvent?: (event: unknown) => void };
  const client = globalThis._ffiClientInstance as unknown as EventEmitter | undefined;
  if (onFfiEvent) client?.off('ffi_event', onFfiEvent);
}

/** Rejects if the work takes longer. */
function within<Value>(
  work: Promise<Value>,
  ms: number,
  { clock }: Pick<MediaShared, 'clock'>,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => reject(new Error(`no result within ${ms} ms`)));
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}
