/**
 * The caller's media: a continuous RTP stream paced at 20 ms (voice, keys, or the noise of the line), and the
 * reception of the agent's.
 */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:dgram';
import type { Stretch } from '#protocol/audible-timeline.ts';
import { AgentAudio } from './agent-audio.ts';
import { type Codec, type Coding, openCoding, ticksOf } from './codecs.ts';
import type { LineSound } from './line-sound.ts';
import { pace } from './pace.ts';
import { DIGIT_EVENTS, PACKET_MS, PACKET_SAMPLES, writeRtp } from './rtp.ts';
import { SteadyLine } from './steady-line.ts';
import type { CallerStream } from './take-turns.ts';

const DIGIT_PACKETS = 5;
const DIGIT_END_PACKETS = 3;
const DIGIT_GAP_PACKETS = 4;
const DIGIT_VOLUME = 10;

/** Address of the agent's media, and its payload type of keys (null if unsupported). */
export interface MediaRemote {
  readonly address: string;
  readonly port: number;
  readonly digitPayloadType: number | null;
}

/** First and last packet of a line or key: RTP timestamps, and times of this process in ms since 1970. */
export interface SentSpan {
  readonly firstTimestamp: number;
  readonly lastTimestamp: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** The line being sent. */
interface OutgoingLine {
  readonly samples: Int16Array;
  position: number;
  first: { readonly timestamp: number; readonly atMs: number } | null;
  readonly done: (span: SentSpan) => void;
}

/** Network impairment: random loss and delay. */
export interface Network {
  readonly lossShare: number;
  readonly jitterMs: number;
  readonly random: () => number;
}

/** One RTP stream in each direction. The socket must be bound, and stays the owner's. */
export class RtpStream implements CallerStream<SentSpan> {
  readonly #agent: AgentAudio;
  readonly #socket: Socket;
  readonly #line: LineSound;
  /** Null if every packet differs. */
  readonly #steady: SteadyLine | null;
  readonly #network: Network;
  readonly #codec: Codec;
  readonly #coding: Coding;
  /** RTP timestamps in one packet. */
  readonly #ticks: number;
  readonly #ssrc = randomBytes(4).readUInt32BE(0);
  #remote: MediaRemote | null = null;
  #stopPacing: (() => void) | null = null;
  #sequence = randomBytes(2).readUInt16BE(0) >> 1;
  #timestamp = randomBytes(4).readUInt32BE(0) >>> 1;
  #saying: OutgoingLine | null = null;
  #keys: (() => boolean)[] = [];
  readonly #afterEachPacket = new Set<() => void>();

  constructor(
    socket: Socket,
    { line, network, codec }: { readonly line: LineSound; readonly network: Network; readonly codec: Codec },
  ) {
    this.#socket = socket;
    this.#line = line;
    const isSteady = line.isSteady && codec.name === 'pcmu';
    this.#steady = isSteady ? new SteadyLine(line.noisePeak, network.random()) : null;
    this.#network = network;
    this.#codec = codec;
    this.#coding = openCoding(codec);
    this.#ticks = ticksOf(codec);
    this.#agent = new AgentAudio(line, codec, this.#coding);
    socket.on('message', (datagram) => this.#agent.hear(datagram));
  }

  /** Begins to send. */
  start(remote: MediaRemote): void {
    this.#remote = remote;
    this.#agent.start();
    this.#stopPacing = pace(PACKET_MS, () => this.#packet());
  }

  /** Sends to another address from now on: the peer has moved. */
  redirect(remote: MediaRemote): void {
    this.#remote = remote;
  }

  stop(): void {
    this.#stopPacing?.();
    this.#stopPacing = null;
  }

  /** Sends samples; resolves after their last packet. */
  say(samples: Int16Array): Promise<SentSpan> {
    return new Promise((done) => {
      this.#saying = { samples, position: 0, first: null, done };
    });
  }

  /** Presses keys; resolves after the last one is released. Throws if the peer does not support them. */
  press(digits: string): Promise<void> {
    const payloadType = this.#remote?.digitPayloadType;
    if (payloadType === null || payloadType === undefined)
      throw new Error('the peer does not support telephone-event');
    for (const digit of digits) this.#pressOne(DIGIT_EVENTS.indexOf(digit), payloadType);
    return this.until(() => this.#keys.length === 0, Number.POSITIVE_INFINITY).then(() => undefined);
  }

  /**
   * Resolves with true once the condition holds, checked after every sent packet; false after `timeoutMs`.
   */
  until(condition: () => boolean, timeoutMs: number): Promise<boolean> {
    const deadlineMs = performance.now() + timeoutMs;
    return new Promise((resolve) => {
      const look = () => {
        const isMet = condition();
        if (!isMet && performance.now() < deadlineMs) return;
        this.#afterEachPacket.delete(look);
        resolve(isMet);
      };
      this.#afterEachPacket.add(look);
    });
  }

  agentSpokeForMs(gapMs: number): number {
    return this.#agent.spokeForMs(gapMs);
  }

  agentQuietForMs(): number {
    return this.#agent.quietForMs();
  }

  get lastVoicedMs(): number | null {
    return this.#agent.lastVoicedMs;
  }

  /** Time since the last packet of any kind, in ms. */
  get starvedForMs(): number {
    return this.#agent.starvedForMs;
  }

  /** Spans of the agent's speech, ms since 1970. */
  get agentStretches(): readonly Stretch[] {
    return this.#agent.stretches;
  }

  /** The agent's audio, each packet at the position of its timestamp; silence where none arrived. */
  heard(): Int16Array {
    return this.#agent.heard();
  }

  #packet(): void {
    const key = this.#keys.shift();
    if (key === undefined || !key()) this.#sendAudio();
    this.#timestamp += this.#ticks;
    for (const look of [...this.#afterEachPacket]) look();
  }

  #sendAudio(): void {
    const line = this.#saying;
    const position = line?.position ?? 0;
    const payload = line
      ? this.#voiced(line.samples, position)
      : (this.#steady?.quiet() ?? this.#mixed(new Int16Array(PACKET_SAMPLES)));
    this.#send({
      payloadType: this.#codec.payloadType,
      marker: line !== null && position === 0,
      timestamp: this.#timestamp,
      payload,
    });
    if (!line) return;
    const lastMs = performance.timeOrigin + performance.now();
    line.first ??= { timestamp: this.#timestamp, atMs: lastMs };
    line.position += PACKET_SAMPLES;
    if (line.position < line.samples.length) return;
    this.#saying = null;
    const { timestamp: firstTimestamp, atMs: firstMs } = line.first;
    line.done({ firstTimestamp, lastTimestamp: this.#timestamp, firstMs, lastMs });
  }

  #voiced(samples: Int16Array, position: number): Buffer {
    if (this.#steady) return this.#steady.voice(samples, position);
    const frame = new Int16Array(PACKET_SAMPLES);
    frame.set(samples.subarray(position, position + PACKET_SAMPLES));
    return this.#mixed(frame);
  }

  #mixed(frame: Int16Array): Buffer {
    this.#line.addTo(frame);
    return this.#coding.encode(frame);
  }

  /**
   * Queues one key: packets of growing duration with one timestamp, the end three times, then a gap of audio
   * (RFC 4733 §2.5.1).
   */
  #pressOne(event: number, payloadType: number): void {
    let startTimestamp = 0;
    for (let index = 0; index < DIGIT_PACKETS; index++) {
      this.#keys.push(() => {
        if (index === 0) startTimestamp = this.#timestamp;
        const isLast = index === DIGIT_PACKETS - 1;
        const payload = Buffer.from([event, (isLast ? 0x80 : 0) | DIGIT_VOLUME, 0, 0]);
        payload.writeUInt16BE((index + 1) * this.#ticks, 2);
        for (let copy = 0; copy < (isLast ? DIGIT_END_PACKETS : 1); copy++)
          this.#send({ payloadType, marker: index === 0, timestamp: startTimestamp, payload });
        return true;
      });
    }
    for (let index = 0; index < DIGIT_GAP_PACKETS; index++) this.#keys.push(() => false);
  }

  #send(packet: {
    readonly payloadType: number;
    readonly marker: boolean;
    readonly timestamp: number;
    readonly payload: Buffer;
  }): void {
    const remote = this.#remote;
    if (!remote) return;
    const datagram = writeRtp({ ...packet, sequence: this.#sequence++ % 0x1_0000, ssrc: this.#ssrc });
    const { lossShare, jitterMs, random } = this.#network;
    if (lossShare > 0 && random() < lossShare) return;
    const send = () => this.#socket.send(datagram, remote.port, remote.address);
    // Packets in transit when the call ends are lost.
    if (jitterMs > 0) setTimeout(() => this.#stopPacing && send(), random() * jitterMs);
    else send();
  }
}
