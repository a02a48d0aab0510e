/**
 * The browser process of `browser-peer.ts`: peer connections that offer audio and the data channel `events`,
 * controlled over IPC. It is a separate process because only one thread of a process can use the native
 * library, and in the test process that is the media thread.
 */
import { createRequire } from 'node:module';
import { systemClock, type Timer } from '#base/clock.ts';
import type {
  AudioBlock,
  AudioSink,
  AudioTrack,
  DataChannel,
  PeerConnection,
  WebrtcLibrary,
} from '#media/webrtc/webrtc-api.ts';

const RATE_HZ = 48_000;
const BLOCK_SAMPLES = RATE_HZ / 100;

/** A command to one peer. */
export type PeerOrder =
  | { readonly do: 'offer' }
  | { readonly do: 'accept'; readonly answerSdp: string }
  | { readonly do: 'speak'; readonly samples: Int16Array }
  | { readonly do: 'send'; readonly text: string }
  | { readonly do: 'close' };

/** An event from one peer. */
export type PeerNews =
  | { readonly type: 'offer'; readonly sdp: string }
  | { readonly type: 'state'; readonly state: string }
  | { readonly type: 'channelOpen' }
  | { readonly type: 'message'; readonly text: string }
  | { readonly type: 'heard'; readonly atMs: number; readonly samples: Int16Array }
  | { readonly type: 'speaking'; readonly atMs: number };

interface OfferingPeer extends Omit<PeerConnection, 'setRemoteDescription' | 'setLocalDescription'> {
  createOffer(): Promise<{ readonly type: 'offer'; readonly sdp: string }>;
  createDataChannel(label: string): DataChannel;
  setLocalDescription(description: { readonly type: 'offer'; readonly sdp: string }): Promise<void>;
  setRemoteDescription(description: { readonly type: 'answer'; readonly sdp: string }): Promise<void>;
}

class Peer {
  readonly peer: OfferingPeer;
  readonly channel: DataChannel;
  readonly #source;
  readonly #track: AudioTrack;
  readonly #timer: Timer;
  #sink: AudioSink | null = null;
  #speech: Int16Array = new Int16Array(0);
  #spoken = 0;

  constructor(report: (news: PeerNews) => void) {
    const library = createRequire(import.meta.url)('@roamhq/wrtc') as WebrtcLibrary;
    this.peer = new library.RTCPeerConnection({
      iceServers: [],
      portRange: { min: 45_000, max: 45_999 },
    }) as unknown as OfferingPeer;
    this.#source = new library.nonstandard.RTCAudioSource();
    this.#track = this.#source.createTrack();
    this.peer.addTrack(this.#track, new library.MediaStream());
    this.channel = this.peer.createDataChannel('events');
    this.channel.onmessage = ({ data }) => report({ type: 'message', text: String(data) });
    this.channel.onopen = () => report({ type: 'channelOpen' });
    this.peer.onconnectionstatechange = () => report({ type: 'state', state: this.peer.connectionState });
    this.peer.ontrack = ({ track }) => {
      this.#sink = new library.nonstandard.RTCAudioSink(track);
      this.#sink.ondata = (block: AudioBlock) =>
        report({ type: 'heard', atMs: systemClock.now(), samples: block.samples.slice() });
    };
    let blocks = 0;
    const startMs = systemClock.now();
    this.#timer = systemClock.every(5, () => {
      for (; startMs + blocks * 10 <= systemClock.now(); blocks++) this.#speakBlock();
    });
  }

  /** Creates the offer with all candidates gathered. */
  async offer(): Promise<string> {
    await this.peer.setLocalDescription(await this.peer.createOffer());
    while (this.peer.iceGatheringState !== 'complete') await systemClock.sleep(5);
    return this.peer.localDescription?.sdp ?? '';
  }

  async accept(answerSdp: string): Promise<void> {
    await this.peer.setRemoteDescription({ type: 'answer', sdp: answerSdp });
  }

  /** Plays 48 kHz audio, then silence; returns its start time. */
  speak(samples: Int16Array): number {
    this.#speech = samples;
    this.#spoken = 0;
    return systemClock.now();
  }

  close(): void {
    this.#timer.cancel();
    this.#sink?.stop();
    this.#track.stop();
    this.channel.close();
    this.peer.close();
  }

  #speakBlock(): void {
    const samples = new Int16Array(BLOCK_SAMPLES);
    samples.set(this.#speech.subarray(this.#spoken, this.#spoken + BLOCK_SAMPLES));
    this.#spoken += BLOCK_SAMPLES;
    this.#source.onData({
      samples,
      sampleRate: RATE_HZ,
      bitsPerSample: 16,
      channelCount: 1,
      numberOfFrames: BLOCK_SAMPLES,
    });
  }
}

const peers = new Map<number, Peer>();

process.on('message', async ({ id, order }: { id: number; order: PeerOrder }) => {
  const report = (news: PeerNews) => process.send?.({ id, news });
  const peer = peers.get(id) ?? new Peer(report);
  peers.set(id, peer);
  if (order.do === 'offer') report({ type: 'offer', sdp: await peer.offer() });
  if (order.do === 'accept') await peer.accept(order.answerSdp);
  if (order.do === 'speak') report({ type: 'speaking', atMs: peer.speak(order.samples) });
  if (order.do === 'send') peer.channel.send(order.text);
  if (order.do !== 'close') return;
  peer.close();
  peers.delete(id);
});
process.on('disconnect', () => process.exit(0));
