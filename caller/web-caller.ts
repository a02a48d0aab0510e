/**
 * A web caller: a real peer connection to a session of the product. Its media is encrypted, so there is no
 * capture: times are those at which this process sent and received 10 ms blocks.
 */
import { createRequire } from 'node:module';
import { Resampler, resample } from '#media/dsp/pcm.ts';
import type {
  AudioBlock,
  AudioSink,
  AudioSource,
  AudioTrack,
  PeerConnection,
  WebrtcLibrary,
} from '#media/webrtc/webrtc-api.ts';
import type { TimedLine, Timeline } from '#protocol/audible-timeline.ts';
import { BlockStream } from './block-stream.ts';
import { LineSound } from './line-sound.ts';
import { playScene } from './play-scene.ts';
import { CALLER_RATE_HZ, type Line, type Scene } from './scene.ts';

const RATE_HZ = 48_000;
const BLOCK_SAMPLES = RATE_HZ / 100;
const CONNECT_MS = 20_000;

/** How to join a web session. */
export interface WebGrant {
  readonly webrtc_url: string;
  readonly token: string;
}

/** Joins a session, plays the scene and leaves. Throws if no connection is established. */
export async function callOverWeb(
  grant: WebGrant,
  scene: Scene,
  onLine: (line: Line) => void,
): Promise<Timeline> {
  const connection = new WebConnection();
  const stream = new BlockStream(new LineSound(scene), (block) => connection.send(block));
  try {
    await connection.open(grant, stream);
    const lines: TimedLine[] = [];
    await playScene(scene, stream, {
      onLine,
      onSaid: (line, span) => lines.push({ text: line.text, means: line.means, ...span }),
    });
    return { agent: stream.stretches, lines };
  } finally {
    stream.stop();
    connection.close();
  }
}

interface OfferingPeer extends Omit<PeerConnection, 'setRemoteDescription' | 'setLocalDescription'> {
  createOffer(): Promise<{ readonly type: 'offer'; readonly sdp: string }>;
  createDataChannel(label: string): unknown;
  setLocalDescription(description: { readonly type: 'offer'; readonly sdp: string }): Promise<void>;
  setRemoteDescription(description: { readonly type: 'answer'; readonly sdp: string }): Promise<void>;
}

/** One peer connection. */
class WebConnection {
  readonly #library = createRequire(import.meta.url)('@roamhq/wrtc') as WebrtcLibrary;
  readonly #peer: OfferingPeer;
  readonly #source: AudioSource;
  readonly #track: AudioTrack;
  readonly #up = new Resampler(CALLER_RATE_HZ, RATE_HZ);
  #sink: AudioSink | null = null;

  constructor() {
    const library = this.#library;
    this.#peer = new library.RTCPeerConnection({
      iceServers: [],
      portRange: { min: 30_000, max: 32_000 },
    }) as unknown as OfferingPeer;
    this.#source = new library.nonstandard.RTCAudioSource();
    this.#track = this.#source.createTrack();
    this.#peer.addTrack(this.#track, new library.MediaStream());
    this.#peer.createDataChannel('events');
  }

  /** Connects the stream, which then sends and receives. */
  async open({ webrtc_url: url, token }: WebGrant, stream: BlockStream): Promise<void> {
    this.#peer.ontrack = ({ track }) => {
      this.#sink = new this.#library.nonstandard.RTCAudioSink(track);
      this.#sink.ondata = ({ samples, sampleRate }: AudioBlock) =>
        stream.hear(resample(samples, sampleRate, CALLER_RATE_HZ));
    };
    const deadlineMs = performance.now() + CONNECT_MS;
    const wait = async (isThere: () => boolean) => {
      while (!isThere()) {
        if (performance.now() > deadlineMs) throw new Error('the web caller could not connect');
        await new Promise((done) => setTimeout(done, 5));
      }
    };
    await this.#peer.setLocalDescription(await this.#peer.createOffer());
    await wait(() => this.#peer.iceGatheringState === 'complete');
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'offer', sdp: this.#peer.localDescription?.sdp }),
    });
    if (!response.ok)
      throw new Error(`the offer was answered with ${response.status} ${await response.text()}`);
    await this.#peer.setRemoteDescription((await response.json()) as { type: 'answer'; sdp: string });
    stream.start();
    await wait(() => this.#peer.connectionState === 'connected');
  }

  /** Sends 10 ms at the caller's rate. */
  send(block: Int16Array): void {
    const up = new Int16Array(this.#up.outputCapacity(block.length));
    this.#up.push(block, up);
    const samples = up.slice(0, BLOCK_SAMPLES);
    this.#source.onData({
      samples,
      sampleRate: RATE_HZ,
      bitsPerSample: 16,
      channelCount: 1,
      numberOfFrames: BLOCK_SAMPLES,
    });
  }

  close(): void {
    this.#sink?.stop();
    this.#track.stop();
    this.#peer.close();
  }
}
