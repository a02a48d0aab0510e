/**
 * A browser's peer connection as a leg: its offer is answered with all candidates gathered, 48 kHz blocks
 * come in and 24 kHz blocks go out in step with the media thread's wheel, and events use the data channel
 * `events`. The only file that uses the native WebRTC library, which is loaded with the first web call or in
 * advance.
 */
import { createRequire } from 'node:module';
import type { Timer } from '#base/clock.ts';
import { fault } from '#config/errors.ts';
import { frameSamples } from '../dsp/frame.ts';
import { Resampler } from '../dsp/pcm.ts';
import { FrameFifo } from '../leg/frame-fifo.ts';
import type { LegCloseReason, LegCommand, LegStats } from '../leg/leg.ts';
import { LegAudio, type MediaShared } from '../leg/leg-audio.ts';
import type { MediaThreadSettings, WebrtcLegOptions } from '../leg/leg-factory.ts';
import { MessageGate } from '../leg/message-gate.ts';
import type { Paced } from '../leg/pacer.ts';
import type { OpenedLeg, TransportLeg } from '../leg/transport-leg.ts';
import {
  BLOCK_MS,
  BLOCK_SAMPLES,
  IN_RATE_HZ,
  MAX_SEND_LATENESS_MS,
  NO_STATS,
  OUT_RATE_HZ,
  STATS_TIMEOUT_MS,
} from '../leg/web-leg.ts';
import { EVENT_CHANNEL, EventChannel } from './event-channel.ts';
import { announceAddress } from './sdp-candidates.ts';
import { checkedOffer } from './sdp-offer.ts';
import type {
  AudioBlock,
  AudioSink,
  AudioSource,
  AudioTrack,
  PeerConnection,
  WebrtcLibrary,
} from './webrtc-api.ts';

/** Longest wait for STUN and TURN servers while gathering; the candidates found by then are used. */
const GATHERING_TIMEOUT_MS = 2000;
/** Longest wait for the connection after the answer. */
const CONNECT_TIMEOUT_MS = 20_000;
/**
 * How long a broken connection may take to recover before the leg closes; ICE has waited about 8 s before it
 * reports it. A caller who is still there sends another offer.
 */
const DISCONNECT_TIMEOUT_MS = 5000;

/** Options of a web leg beyond those of all legs. */
export interface WebrtcSessionOptions extends WebrtcLegOptions {
  readonly leg: number;
  readonly settings: MediaThreadSettings;
  readonly onClosed: () => void;
}

/** Answers an offer; throws `Fault('sdp_unusable')` if it has no audio we support. */
export async function openWebrtcSession(
  options: WebrtcSessionOptions,
  shared: MediaShared,
): Promise<{ leg: TransportLeg; opened: OpenedLeg }> {
  const { rtpPortMin: min, rtpPortMax: max, iceServers, publicIp } = options.settings;
  const offer = checkedOffer(options.offerSdp);
  if (offer === null || !hasAudio(offer)) throw fault('sdp_unusable');
  const library = loadLibrary();
  const peer = new library.RTCPeerConnection({ iceServers, portRange: { min, max } });
  const session = new WebrtcSession(peer, library, { ...options, offerSdp: offer }, shared);
  try {
    const sdp = await session.answer();
    if (!hasAudio(sdp)) throw new Error('no audio codec in common');
    const answerSdp = publicIp === null ? sdp : announceAddress(sdp, publicIp);
    const opened = {
      inRateHz: IN_RATE_HZ,
      outRateHz: OUT_RATE_HZ,
      originMs: session.originMs,
      localPort: null,
      answerSdp,
    };
    return { leg: session, opened };
  } catch (error) {
    session.abandon();
    throw fault('sdp_unusable', {}, { cause: error });
  }
}

/** Loads the library and starts its threads, as the first connection would. Throws if it cannot be loaded. */
export function warmUpWebrtc(): void {
  const library = loadLibrary();
  new library.RTCPeerConnection({ iceServers: [] }).close();
}

function loadLibrary(): WebrtcLibrary {
  return createRequire(import.meta.url)('@roamhq/wrtc') as WebrtcLibrary;
}

/** True if the description has an audio section that is not refused (RFC 3264 §6: port 0). */
function hasAudio(sdp: string): boolean {
  return /^m=audio [1-9]\d* /m.test(sdp);
}

class WebrtcSession implements TransportLeg, Paced {
  readonly originMs: number;
  readonly #shared: MediaShared;
  readonly #options: WebrtcSessionOptions;
  readonly #peer: PeerConnection;
  readonly #library: WebrtcLibrary;
  readonly #source: AudioSource;
  readonly #track: AudioTrack;
  readonly #audio: LegAudio;
  readonly #channel: EventChannel;
  readonly #fifo = new FrameFifo(frameSamples(IN_RATE_HZ));
  readonly #block = new Int16Array(BLOCK_SAMPLES);
  #resampler: { readonly fromHz: number; readonly run: Resampler; readonly output: Int16Array } | null = null;
  #sink: AudioSink | null = null;
  #timer: Timer;
  #isConnected = false;
  #ending: Promise<void> | null = null;

  constructor(
    peer: PeerConnection,
    library: WebrtcLibrary,
    options: WebrtcSessionOptions,
    shared: MediaShared,
  ) {
    this.#peer = peer;
    this.#library = library;
    this.#options = options;
    this.#shared = shared;
    this.#source = new library.nonstandard.RTCAudioSource();
    this.#track = this.#source.createTrack();
    const gate = new MessageGate(shared.clock, () =>
      shared.log('warn', 'a web client exceeds its message rate; messages dropped'),
    );
    this.#channel = new EventChannel({
      mayPass: (length) => gate.passes(length),
      onMessage: (text) => this.#audio.emit({ type: 'message', atMs: shared.clock.now(), text }),
      onClosed: () => void this.#end('remote'),
    });
    peer.ontrack = ({ track }) => this.#listenTo(track);
    peer.ondatachannel = ({ channel }) => {
      // Any other channel would collect messages that nobody reads.
      if (channel.label === EVENT_CHANNEL) this.#channel.attach(channel);
      else channel.close();
    };
    peer.onconnectionstatechange = () => this.#follow();
    this.originMs = shared.pacer.add(this);
    const rates = { inRateHz: IN_RATE_HZ, outRateHz: OUT_RATE_HZ } as const;
    this.#audio = new LegAudio(
      { leg: options.leg, ...rates, originMs: this.originMs, recording: options.recording },
      shared,
    );
    this.#timer = shared.clock.after(CONNECT_TIMEOUT_MS, () => void this.#end('failed'));
  }

  /** Negotiates and gathers; resolves with the answer. */
  async answer(): Promise<string> {
    await this.#peer.setRemoteDescription({ type: 'offer', sdp: this.#options.offerSdp });
    this.#peer.addTrack(this.#track, new this.#library.MediaStream());
    await this.#peer.setLocalDescription(await this.#peer.createAnswer());
    await this.#gathered();
    return this.#peer.localDescription?.sdp ?? '';
  }

  /** Cleans up after a failed offer; the call loop never had this leg. */
  abandon(): void {
    this.#ending = Promise.resolve();
    this.#timer.cancel();
    this.#shared.pacer.remove(this);
    this.#audio.close();
    this.#release();
  }

  command(command: LegCommand): void {
    if (this.#ending || this.#audio.command(command)) return;
    if (command.do === 'sendMessage') this.#channel.send(command.json);
    if (command.do === 'close') void this.#end('local');
  }

  close(): Promise<void> {
    return this.#end('local');
  }

  tick(slot: number, dueMs: number): void {
    if (this.#ending || !this.#isConnected) return;
    const lateMs = this.#shared.clock.now() - dueMs;
    const kind = this.#fifo.pull(this.#audio.received, lateMs);
    const canSend = lateMs <= MAX_SEND_LATENESS_MS;
    this.#audio.fillSent(dueMs, canSend);
    for (let start = 0; canSend && start < this.#audio.sent.length; start += BLOCK_SAMPLES) {
      this.#block.set(this.#audio.sent.subarray(start, start + BLOCK_SAMPLES));
      const samples = this.#block;
      this.#source.onData({
        samples,
        sampleRate: OUT_RATE_HZ,
        bitsPerSample: 16,
        channelCount: 1,
        numberOfFrames: BLOCK_SAMPLES,
      });
    }
    this.#audio.endSlot(slot, dueMs, kind);
  }

  fail(error: unknown): void {
    this.#shared.log('error', 'web leg failed', error);
    void this.#end('failed');
  }

  #gathered(): Promise<void> {
    const peer = this.#peer;
    return new Promise((resolve) => {
      const timer = this.#shared.clock.after(GATHERING_TIMEOUT_MS, resolve);
      const check = () => {
        if (peer.iceGatheringState !== 'complete') return;
        timer.cancel();
        resolve();
      };
      peer.onicegatheringstatechange = check;
      check();
    });
  }

  #listenTo(track: AudioTrack): void {
    if (track.kind !== 'audio') return;
    this.#sink?.stop();
    this.#sink = new this.#library.nonstandard.RTCAudioSink(track);
    this.#sink.ondata = (block) => this.#hear(block);
  }

  /**
   * Takes one block from the library: converts it to 16 kHz, passes it to speech detection at once, and
   * queues it for the slots.
   */
  #hear(block: AudioBlock): void {
    if (this.#ending || !this.#isConnected) return;
    const mono = block.channelCount === 1 ? block.samples : firstChannel(block);
    const samples = this.#toInRate(mono, block.sampleRate);
    this.#audio.hear(samples, this.#shared.clock.now() - (samples.length * 1000) / IN_RATE_HZ);
    this.#fifo.push(samples);
  }

  #toInRate(samples: Int16Array, fromHz: number): Int16Array {
    if (fromHz === IN_RATE_HZ) return samples;
    if (this.#resampler?.fromHz !== fromHz) {
      const run = new Resampler(fromHz, IN_RATE_HZ);
      this.#resampler = {
        fromHz,
        run,
        output: new Int16Array(run.outputCapacity(fromHz / (1000 / BLOCK_MS))),
      };
    }
    const { run, output } = this.#resampler;
    return output.subarray(0, run.push(samples, output));
  }

  #follow(): void {
    if (this.#ending !== null) return;
    const { connectionState } = this.#peer;
    if (connectionState === 'connected') {
      this.#timer.cancel();
      if (!this.#isConnected) this.#audio.emit({ type: 'connected', atMs: this.#shared.clock.now() });
      this.#isConnected = true;
    }
    if (connectionState === 'disconnected') {
      this.#timer.cancel();
      this.#timer = this.#shared.clock.after(DISCONNECT_TIMEOUT_MS, () => void this.#end('media_timeout'));
    }
    // A caller who leaves says so on the data channel or closes the connection.
    if (connectionState === 'failed') void this.#end(this.#isConnected ? 'media_timeout' : 'failed');
    if (connectionState === 'closed') void this.#end(this.#isConnected ? 'remote' : 'failed');
  }

  #end(reason: LegCloseReason): Promise<void> {
    this.#ending ??= this.#finish(reason);
    return this.#ending;
  }

  async #finish(reason: LegCloseReason): Promise<void> {
    this.#timer.cancel();
    this.#shared.pacer.remove(this);
    this.#audio.close();
    const atMs = this.#shared.clock.now();
    // This also gives the last messages time to be sent.
    const stats = await this.#stats();
    this.#audio.emit({ type: 'closed', atMs, reason, stats });
    this.#release();
    this.#options.onClosed();
  }

  /** The library requires this order: users of the connection before the connection. */
  #release(): void {
    this.#sink?.stop();
    this.#track.stop();
    this.#channel.close();
    this.#peer.close();
  }

  #stats(): Promise<LegStats> {
    return new Promise((resolve) => {
      const timer = this.#shared.clock.after(STATS_TIMEOUT_MS, () => resolve(NO_STATS));
      const settle = (stats: LegStats) => {
        timer.cancel();
        resolve(stats);
      };
      this.#peer.getStats().then(
        (report) => settle(summarise(report)),
        () => settle(NO_STATS),
      );
    });
  }
}

function firstChannel(block: AudioBlock): Int16Array {
  return Int16Array.from(
    { length: block.numberOfFrames },
    (_, frame) => block.samples[frame * block.channelCount] ?? 0,
  );
}

/** Audio counters from W3C webrtc-stats; missing ones count as 0. */
function summarise(report: Map<string, Readonly<Record<string, unknown>>>): LegStats {
  const count = (type: string, field: string) => {
    for (const entry of report.values())
      if (entry['type'] === type && entry['kind'] === 'audio') return Number(entry[field] ?? 0);
    return 0;
  };
  return {
    packetsReceived: count('inbound-rtp', 'packetsReceived'),
    packetsLost: Math.max(0, count('inbound-rtp', 'packetsLost')),
    packetsSent: count('outbound-rtp', 'packetsSent'),
    jitterMs: count('inbound-rtp', 'jitter') * 1000,
  };
}
