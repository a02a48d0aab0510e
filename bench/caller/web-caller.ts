/**
 * A web caller: a real peer connection that is offered to a session of the product (running.md, "Direct WebRTC").
 * Its media is encrypted, so there is no capture to read: times are those at which this process sent and heard 10 ms blocks.
 */
import { createRequire } from 'node:module';
import { Resampler, resample } from '#media/pcm.ts';
import type { AudioBlock, AudioSink, AudioSource, AudioTrack, PeerConnection, WebrtcLibrary } from '#media/webrtc-api.ts';
import { LineSound } from './line-sound.ts';
import { pace } from './pace.ts';
import { type CallerStream, playScene, SPEECH_GAP_MS } from './play-scene.ts';
import { VOICED_PEAK } from './rtp.ts';
import { CALLER_RATE_HZ, type Line, type Scene } from './scene.ts';
import { addVoice, type TimedLine, type Timeline } from './timeline.ts';

const RATE_HZ = 48_000;
const BLOCK_MS = 10;
const BLOCK_SAMPLES = (RATE_HZ * BLOCK_MS) / 1_000;
const LINE_SAMPLES = (CALLER_RATE_HZ * BLOCK_MS) / 1_000;
const CONNECT_MS = 20_000;

/** Where a web session is joined. */
export interface WebGrant {
  readonly webrtc_url: string;
  readonly token: string;
}

/** Joins a session, plays the scene and leaves. Throws when no connection comes about. */
export async function callOverWeb(grant: WebGrant, scene: Scene, onLine: (line: Line) => void): Promise<Timeline> {
  const stream = new WebStream(new LineSound(scene));
  try {
    await stream.connect(grant);
    const lines: TimedLine[] = [];
    await playScene(scene, stream, { onLine, onSaid: (line, span) => lines.push({ text: line.text, means: line.means, ...span }) });
    return { agent: stream.heard, lines };
  } finally {
    stream.close();
  }
}

interface OfferingPeer extends Omit<PeerConnection, 'setRemoteDescription' | 'setLocalDescription'> {
  createOffer(): Promise<{ readonly type: 'offer'; readonly sdp: string }>;
  createDataChannel(label: string): unknown;
  setLocalDescription(description: { readonly type: 'offer'; readonly sdp: string }): Promise<void>;
  setRemoteDescription(description: { readonly type: 'answer'; readonly sdp: string }): Promise<void>;
}

type Span = { readonly firstMs: number; readonly lastMs: number };

/** One peer connection each way. */
class WebStream implements CallerStream<Span> {
  readonly heard: { firstMs: number; lastMs: number }[] = [];
  readonly #line: LineSound;
  readonly #peer: OfferingPeer;
  readonly #source: AudioSource;
  readonly #track: AudioTrack;
  readonly #up = new Resampler(CALLER_RATE_HZ, RATE_HZ);
  #sink: AudioSink | null = null;
  #stopPacing: (() => void) | null = null;
  #saying: { readonly samples: Int16Array; position: number; firstMs: number; readonly done: (span: Span) => void } | null = null;
  readonly #looks = new Set<() => void>();
  #voicedSinceMs: number | null = null;
  lastVoicedMs: number | null = null;

  constructor(line: LineSound) {
    this.#line = line;
    const library = createRequire(import.meta.url)('@roamhq/wrtc') as WebrtcLibrary;
    this.#peer = new library.RTCPeerConnection({ iceServers: [], portRange: { min: 30_000, max: 32_000 } }) as unknown as OfferingPeer;
    this.#source = new library.nonstandard.RTCAudioSource();
    this.#track = this.#source.createTrack();
    this.#peer.addTrack(this.#track, new library.MediaStream());
    this.#peer.createDataChannel('events');
    this.#peer.ontrack = ({ track }) => {
      this.#sink = new library.nonstandard.RTCAudioSink(track);
      this.#sink.ondata = (block) => this.#hear(block);
    };
  }

  async connect({ webrtc_url: url, token }: WebGrant): Promise<void> {
    const deadlineMs = performance.now() + CONNECT_MS;
    const wait = async (isThere: () => boolean) => {
      while (!isThere()) {
        if (performance.now() > deadlineMs) throw new Error('the web caller did not get connected');
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
    if (!response.ok) throw new Error(`the offer was answered with ${response.status} ${await response.text()}`);
    await this.#peer.setRemoteDescription((await response.json()) as { type: 'answer'; sdp: string });
    this.#stopPacing = pace(BLOCK_MS, () => this.#sendBlock());
    await wait(() => this.#peer.connectionState === 'connected');
  }

  say(samples: Int16Array): Promise<Span> {
    return new Promise((done) => {
      this.#saying = { samples, position: 0, firstMs: 0, done };
    });
  }

  press(): Promise<void> {
    throw new Error('a web caller has no keys');
  }

  until(condition: () => boolean, timeoutMs: number): Promise<boolean> {
    const deadlineMs = performance.now() + timeoutMs;
    return new Promise((resolve) => {
      const look = () => {
        const isMet = condition();
        if (!isMet && performance.now() < deadlineMs) return;
        this.#looks.delete(look);
        resolve(isMet);
      };
      this.#looks.add(look);
    });
  }

  agentSpokeForMs(gapMs: number): number {
    const now = nowMs();
    if (this.#voicedSinceMs === null || this.lastVoicedMs === null || now - this.lastVoicedMs > gapMs) return 0;
    return now - this.#voicedSinceMs;
  }

  agentQuietForMs(): number {
    return this.lastVoicedMs === null ? 0 : nowMs() - this.lastVoicedMs;
  }

  close(): void {
    this.#stopPacing?.();
    this.#sink?.stop();
    this.#track.stop();
    this.#peer.close();
  }

  #sendBlock(): void {
    const frame = new Int16Array(LINE_SAMPLES);
    const saying = this.#saying;
    if (saying) {
      if (saying.position === 0) saying.firstMs = nowMs();
      frame.set(saying.samples.subarray(saying.position, saying.position + LINE_SAMPLES));
      saying.position += LINE_SAMPLES;
    }
    this.#line.addTo(frame);
    const block = new Int16Array(this.#up.outputCapacity(LINE_SAMPLES));
    this.#up.push(frame, block);
    const samples = block.slice(0, BLOCK_SAMPLES);
    this.#source.onData({ samples, sampleRate: RATE_HZ, bitsPerSample: 16, channelCount: 1, numberOfFrames: BLOCK_SAMPLES });
    if (saying && saying.position >= saying.samples.length) {
      this.#saying = null;
      saying.done({ firstMs: saying.firstMs, lastMs: nowMs() });
    }
    for (const look of [...this.#looks]) look();
  }

  #hear(block: AudioBlock): void {
    this.#line.hear(resample(block.samples, block.sampleRate, CALLER_RATE_HZ));
    if (!block.samples.some((sample) => Math.abs(sample) >= VOICED_PEAK)) return;
    const now = nowMs();
    if (this.lastVoicedMs === null || now - this.lastVoicedMs > SPEECH_GAP_MS) this.#voicedSinceMs = now;
    this.lastVoicedMs = now;
    addVoice(this.heard, now);
  }
}

/** Wall time that does not jump, ms since 1970. */
function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
