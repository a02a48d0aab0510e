/**
 * A browser's peer connection as a leg: its offer is answered with all candidates gathered, 48 kHz blocks
 * come in and 24 kHz blocks go out in step with the media thread's wheel, and events use the data channel
 * `events`. The only file that uses the native WebRTC library, which is loaded with the first web call or in
 * advance.
 */
import { createRequire } from 'node:module';
import type { Timer } from '#base/clock.ts';
import { fault } from '#config/errors.ts';
import { Resampler } from '../dsp/pcm.ts';
import type { LegStats } from '../leg/leg.ts';
import type { MediaShared } from '../leg/leg-audio.ts';
import type { MediaThreadSettings, WebrtcLegOptions } from '../leg/leg-factory.ts';
import { createMessageGate } from '../leg/message-gate.ts';
import type { OpenedLeg, TransportLeg } from '../leg/transport-leg.ts';
import {
  BLOCK_MS,
  BLOCK_SAMPLES,
  IN_RATE_HZ,
  NO_STATS,
  OUT_RATE_HZ,
  STATS_TIMEOUT_MS,
  WebLeg,
  type WebTransport,
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
/** Time for a client to connect to another worker. */
const MOVED_WITHIN_MS = 10_000;

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
    const { leg } = session;
    return { leg, opened: leg.opened(publicIp === null ? sdp : announceAddress(sdp, publicIp)) };
  } catch (error) {
    session.leg.abandon();
    throw fault('sdp_unusable', {}, { cause: error });
  }
}

/**
 * Loads the library, which takes 70 ms. Throws if it cannot be loaded. Its threads start with a connection,
 * in 4 ms: one of them wakes a hundred times a second, as long as a connection was not collected.
 */
export function warmUpWebrtc(): void {
  loadLibrary();
}

function loadLibrary(): WebrtcLibrary {
  return createRequire(import.meta.url)('@roamhq/wrtc') as WebrtcLibrary;
}

/** True if the description has an audio section that is not refused (RFC 3264 §6: port 0). */
function hasAudio(sdp: string): boolean {
  return /^m=audio [1-9]\d* /m.test(sdp);
}

class WebrtcSession implements WebTransport {
  readonly leg: WebLeg;
  readonly canSend = true;
  readonly canLinger = true;
  readonly #shared: MediaShared;
  readonly #options: WebrtcSessionOptions;
  readonly #peer: PeerConnection;
  readonly #library: WebrtcLibrary;
  readonly #source: AudioSource;
  readonly #track: AudioTrack;
  readonly #channel: EventChannel;
  readonly #block = new Int16Array(BLOCK_SAMPLES);
  #resampler: { readonly fromHz: number; readonly run: Resampler; readonly output: Int16Array } | null = null;
  #sink: AudioSink | null = null;
  #timer: Timer;

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
    const gate = createMessageGate(shared);
    this.#channel = new EventChannel({
      mayPass: (length) => gate.passes(length),
      onMessage: (text) => this.leg.receive(text),
      onClosed: () => void this.leg.end('remote'),
    });
    peer.ontrack = ({ track }) => this.#listenTo(track);
    peer.ondatachannel = ({ channel }) => {
      // Messages on any other channel would pile up unread.
      if (channel.label === EVENT_CHANNEL) this.#channel.attach(channel);
      else channel.close();
    };
    peer.onconnectionstatechange = () => this.#follow();
    const { leg, recording, onClosed } = options;
    this.leg = new WebLeg(
      { leg, recording, onClosed, failure: 'a web leg failed and is closed' },
      this,
      shared,
    );
    this.#timer = shared.clock.after(CONNECT_TIMEOUT_MS, () => void this.leg.end('failed'));
  }

  /** Negotiates and gathers; resolves with the answer. */
  async answer(): Promise<string> {
    await this.#peer.setRemoteDescription({ type: 'offer', sdp: this.#options.offerSdp });
    this.#peer.addTrack(this.#track, new this.#library.MediaStream());
    await this.#peer.setLocalDescription(await this.#peer.createAnswer());
    await this.#gathered();
    return this.#peer.localDescription?.sdp ?? '';
  }

  sendFrame(frame: Int16Array): void {
    for (let start = 0; start < frame.length; start += BLOCK_SAMPLES) {
      this.#block.set(frame.subarray(start, start + BLOCK_SAMPLES));
      this.#source.onData({
        samples: this.#block,
        sampleRate: OUT_RATE_HZ,
        bitsPerSample: 16,
        channelCount: 1,
        numberOfFrames: BLOCK_SAMPLES,
      });
    }
  }

  sendMessage(json: string): void {
    this.#channel.send(json);
  }

  stopTimers(): void {
    this.#timer.cancel();
  }

  /** Reading the statistics also gives the last messages time to be sent. */
  finish(): Promise<LegStats> {
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

  /** A moved client takes the end of its connection for the end of the call until it has another one. */
  async release(isMoved: boolean): Promise<void> {
    if (isMoved) this.#shared.clock.after(MOVED_WITHIN_MS, () => this.#close());
    else this.#close();
  }

  /** The library requires this order: users of the connection before the connection. */
  #close(): void {
    try {
      this.#sink?.stop();
      this.#track.stop();
      this.#channel.close();
      this.#peer.close();
    } catch (error) {
      this.#shared.log('warn', 'the connection could not be closed', error);
    }
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

  #hear(block: AudioBlock): void {
    if (this.leg.isEnding || !this.leg.isConnected) return;
    const mono = block.channelCount === 1 ? block.samples : firstChannel(block);
    this.leg.hear(this.#toInRate(mono, block.sampleRate));
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
    const { leg } = this;
    if (leg.isEnding) return;
    const { connectionState } = this.#peer;
    if (connectionState === 'connected') {
      this.#timer.cancel();
      leg.connected();
    }
    if (connectionState === 'disconnected') {
      this.#timer.cancel();
      this.#timer = this.#shared.clock.after(DISCONNECT_TIMEOUT_MS, () => void leg.end('media_timeout'));
    }
    // A caller who leaves says so on the data channel or closes the connection.
    if (connectionState === 'failed') void leg.end(leg.isConnected ? 'media_timeout' : 'failed');
    if (connectionState === 'closed') void leg.end(leg.isConnected ? 'remote' : 'failed');
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
