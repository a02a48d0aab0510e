/**
 * A caller in a LiveKit room as a leg: the agent's participant joins with its own token, publishes one track,
 * subscribes to the caller's voice, and uses the data topics, text streams and attribute of Parley's rooms
 * (docs/livekit.md). The native LiveKit library is loaded with the first room.
 */
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
import { FRAME_MS, frameSamples } from '../dsp/frame.ts';
import { FrameFifo } from '../leg/frame-fifo.ts';
import type { LegCloseReason, LegCommand, LegStats } from '../leg/leg.ts';
import { LegAudio, type MediaShared } from '../leg/leg-audio.ts';
import type { LivekitLegOptions } from '../leg/leg-factory.ts';
import type { Paced } from '../leg/pacer.ts';
import type { OpenedLeg, TransportLeg } from '../leg/transport-leg.ts';
import { IN_RATE_HZ, MAX_SEND_LATENESS_MS, NO_STATS, OUT_RATE_HZ, STATS_TIMEOUT_MS } from '../leg/web-leg.ts';
import { AgentTrack } from './agent-track.ts';
import { RoomInbox } from './room-inbox.ts';
import { CLIENT_EVENTS } from './room-messages.ts';
import { RoomOutbox } from './room-outbox.ts';

type Library = typeof import('@livekit/rtc-node');

const JOIN_TIMEOUT_MS = 10_000;
/** A caller in the room who has not subscribed to the agent's voice is greeted after this long. */
const AUDIBLE_TIMEOUT_MS = 2_000;
/** How long a caller who lost the connection may take to come back. */
const RETURN_TIMEOUT_MS = 15_000;
/** Time for the last messages to be sent, and then for the caller to read them and leave. */
const FLUSH_MS = 500;
const LEAVE_MS = 300;
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
    session.abandon();
    // The failed URL may contain the token: only the kind of failure is reported.
    throw fault('gateway_unreachable', {}, { cause: error });
  }
  const opened = {
    inRateHz: IN_RATE_HZ,
    outRateHz: OUT_RATE_HZ,
    originMs: session.originMs,
    localPort: null,
    answerSdp: null,
  };
  return { leg: session, opened };
}

class LivekitSession implements TransportLeg, Paced {
  readonly originMs: number;
  readonly #library: Library;
  readonly #options: LivekitSessionOptions;
  readonly #shared: MediaShared;
  readonly #room: Room;
  readonly #voice: AgentTrack;
  readonly #audio: LegAudio;
  readonly #fifo = new FrameFifo(frameSamples(IN_RATE_HZ));
  readonly #inbox: RoomInbox;
  readonly #outbox: RoomOutbox;
  /** Resolves once the caller can hear. */
  readonly #heard = Promise.withResolvers<void>();
  readonly #callerGone = Promise.withResolvers<void>();
  #listening: RemoteTrack | null = null;
  #timer: Timer | null = null;
  #isCallerHere = false;
  #isAudible = false;
  #isConnected = false;
  #isReconnecting = false;
  #ending: Promise<void> | null = null;

  constructor(library: Library, options: LivekitSessionOptions, shared: MediaShared) {
    this.#library = library;
    this.#options = options;
    this.#shared = shared;
    this.#inbox = new RoomInbox(shared, (text) =>
      this.#audio.emit({ type: 'message', atMs: shared.clock.now(), text }),
    );
    this.#voice = new AgentTrack(library, (error) => {
      if (this.#ending === null) shared.log('warn', 'a block of audio was refused', error);
    });
    this.#room = new library.Room();
    const { callerIdentity } = options;
    this.#outbox = new RoomOutbox({
      room: this.#room,
      callerIdentity,
      log: shared.log,
      heard: this.#heard.promise,
    });
    this.originMs = shared.pacer.add(this);
    const rates = { inRateHz: IN_RATE_HZ, outRateHz: OUT_RATE_HZ } as const;
    this.#audio = new LegAudio(
      { leg: options.leg, ...rates, originMs: this.originMs, recording: options.recording },
      shared,
    );
    const { RoomEvent } = library;
    this.#room
      .on(RoomEvent.ParticipantConnected, (participant) => this.#came(participant))
      .on(RoomEvent.ParticipantDisconnected, (participant) => this.#left(participant))
      .on(RoomEvent.TrackPublished, (publication, participant) => this.#subscribe(publication, participant))
      .on(RoomEvent.TrackUnpublished, (_publication, participant) => this.#subscribeToNewest(participant))
      .on(RoomEvent.TrackSubscribed, (track, _publication, participant) => this.#listenTo(track, participant))
      .on(RoomEvent.LocalTrackSubscribed, () => this.#becameAudible())
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
    if (this.#ending !== null) {
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

  /** Cleans up after a failed join; the call loop never had this leg. */
  abandon(): void {
    this.#ending = Promise.resolve();
    this.#outbox.close();
    this.#shared.pacer.remove(this);
    this.#audio.close();
    void this.#release();
  }

  command(command: LegCommand): void {
    if (this.#ending || this.#audio.command(command)) return;
    if (command.do === 'sendMessage') this.#outbox.send(command.json);
    if (command.do === 'close') void this.#end('local');
  }

  close(): Promise<void> {
    return this.#end('local');
  }

  tick(slot: number, dueMs: number): void {
    if (this.#ending || !this.#isConnected) return;
    const lateMs = this.#shared.clock.now() - dueMs;
    const kind = this.#fifo.pull(this.#audio.received, lateMs);
    const isOnTime = lateMs <= MAX_SEND_LATENESS_MS;
    // While the connection recovers, a reply waits instead of being lost.
    const canSend = isOnTime && this.#isCallerHere && !this.#isReconnecting;
    this.#audio.fillSent(dueMs, canSend);
    if (canSend && !this.#voice.capture(this.#audio.sent)) {
      this.fail(new Error('the library no longer takes audio'));
      return;
    }
    this.#audio.endSlot(slot, dueMs, kind);
  }

  fail(error: unknown): void {
    this.#shared.log('error', 'room leg failed', error);
    void this.#end('failed');
  }

  #isCaller(participant: RemoteParticipant | undefined): boolean {
    return participant?.identity === this.#options.callerIdentity;
  }

  #came(participant: RemoteParticipant): void {
    if (this.#ending || !this.#isCaller(participant)) return;
    this.#isCallerHere = true;
    this.#inbox.setOpen(true);
    this.#timer?.cancel();
    this.#timer = null;
    for (const publication of participant.trackPublications.values())
      this.#subscribe(publication, participant);
    if (this.#isConnected) return;
    if (this.#isAudible) this.#connected();
    else this.#timer = this.#shared.clock.after(AUDIBLE_TIMEOUT_MS, () => this.#connected());
  }

  #left(participant: RemoteParticipant): void {
    if (!this.#isCaller(participant)) return;
    this.#isCallerHere = false;
    this.#inbox.setOpen(false);
    this.#callerGone.resolve();
    if (this.#ending !== null) return;
    this.#timer?.cancel();
    if (this.#hasLeftForGood(participant.disconnectReason)) void this.#end('remote');
    else this.#timer = this.#shared.clock.after(RETURN_TIMEOUT_MS, () => void this.#end('remote'));
  }

  /** The caller left or was removed; any other reason is a broken connection. */
  #hasLeftForGood(reason: DisconnectReason | undefined): boolean {
    const { CLIENT_INITIATED, PARTICIPANT_REMOVED, ROOM_DELETED, ROOM_CLOSED } =
      this.#library.DisconnectReason;
    return (
      reason === CLIENT_INITIATED ||
      reason === PARTICIPANT_REMOVED ||
      reason === ROOM_DELETED ||
      reason === ROOM_CLOSED
    );
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
    if (this.#ending || !this.#isCaller(participant) || track.kind !== this.#library.TrackKind.KIND_AUDIO)
      return;
    this.#listening?.closeAudioStreams();
    this.#listening = track;
    const stream = new this.#library.AudioStream(track, {
      sampleRate: IN_RATE_HZ,
      numChannels: 1,
      frameSizeMs: FRAME_MS,
    });
    this.#read(stream).catch((error: unknown) => this.fail(error));
  }

  /** The only reader of a stream; it ends with its track. */
  async #read(stream: AudioStream): Promise<void> {
    for await (const { data } of stream) {
      if (this.#ending || !this.#isConnected) continue;
      this.#audio.hear(data, this.#shared.clock.now() - (data.length * 1000) / IN_RATE_HZ);
      this.#fifo.push(data);
    }
  }

  #becameAudible(): void {
    this.#isAudible = true;
    if (this.#isCallerHere) this.#connected();
  }

  #connected(): void {
    if (this.#isConnected || this.#ending !== null) return;
    this.#timer?.cancel();
    this.#timer = null;
    this.#isConnected = true;
    this.#heard.resolve();
    this.#audio.emit({ type: 'connected', atMs: this.#shared.clock.now() });
  }

  #reconnecting(isReconnecting: boolean): void {
    this.#isReconnecting = isReconnecting;
    this.#outbox.setReconnecting(isReconnecting);
  }

  /** The library gave up reconnecting, or the server removed us. */
  #lost(reason: DisconnectReason): void {
    if (this.#ending !== null) return;
    this.#shared.log('warn', 'connection to the room lost', this.#library.DisconnectReason[reason]);
    void this.#end(this.#hasLeftForGood(reason) ? 'remote' : 'failed');
  }

  #receive(payload: Uint8Array, participant: RemoteParticipant | undefined, topic: string | undefined): void {
    if (this.#ending || topic !== CLIENT_EVENTS) return;
    this.#inbox.take(payload, participant ? this.#isCaller(participant) : null);
  }

  #end(reason: LegCloseReason): Promise<void> {
    this.#outbox.close();
    this.#ending ??= this.#finish(reason);
    return this.#ending;
  }

  async #finish(reason: LegCloseReason): Promise<void> {
    this.#timer?.cancel();
    this.#shared.pacer.remove(this);
    this.#audio.close();
    const atMs = this.#shared.clock.now();
    if (reason === 'local' && this.#isConnected) {
      await within(this.#outbox.flushed, FLUSH_MS, this.#shared).catch(() => undefined);
      if (this.#isCallerHere)
        await within(this.#callerGone.promise, LEAVE_MS, this.#shared).catch(() => undefined);
    }
    const stats = this.#room.isConnected
      ? await within(this.#stats(), STATS_TIMEOUT_MS, this.#shared).catch(() => NO_STATS)
      : NO_STATS;
    this.#audio.emit({ type: 'closed', atMs, reason, stats });
    await this.#release();
    this.#options.onClosed();
  }

  async #release(): Promise<void> {
    try {
      this.#listening?.closeAudioStreams();
      await this.#room.disconnect();
      await this.#voice.track.close();
    } catch (error) {
      this.#shared.log('warn', 'a room could not be left properly', error);
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
