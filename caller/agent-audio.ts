/** The agent's audio as received by the caller, and how long it speaks and pauses. */

import { addVoice, type Stretch } from '#protocol/audible-timeline.ts';
import { type Codec, type Coding, ticksOf } from './codecs.ts';
import { encodeBlock, ULAW_SILENCE } from './g711.ts';
import type { LineSound } from './line-sound.ts';
import { isVoiced, PACKET_MS, PACKET_SAMPLES, parseRtp, samplesOf } from './rtp.ts';
import { SPEECH_GAP_MS } from './take-turns.ts';

/** Initial room for received audio; doubled when it is full. */
const FIRST_HEARD_SAMPLES = 8_000 * 5;
const MAX_HEARD_SAMPLES = 8_000 * 60 * 60;

/** Receives one RTP stream. */
export class AgentAudio {
  readonly #line: LineSound;
  readonly #codec: Codec;
  readonly #coding: Coding;
  readonly #ticks: number;
  readonly #stretches: { firstMs: number; lastMs: number }[] = [];
  /** µ-law, each packet at the position of its timestamp. */
  #heard = Buffer.alloc(0);
  #heardSamples = 0;
  /** Timestamps of the first and the latest packet received. */
  #firstHeard: number | null = null;
  #lastHeard = 0;
  /** Event-loop times, only for the scene's decisions. */
  #voicedSinceMs: number | null = null;
  #lastVoicedMs: number | null = null;
  #lastPacketMs = performance.now();
  #source: number | null = null;
  /** Offset added to the timestamps of the current source. */
  #shift = 0;

  /** Sounds of the line that depend on the agent's, such as its echo, come from `line`. */
  constructor(line: LineSound, codec: Codec, coding: Coding) {
    this.#line = line;
    this.#codec = codec;
    this.#coding = coding;
    this.#ticks = ticksOf(codec);
  }

  /** Measures the wait for packets from now. */
  start(): void {
    this.#lastPacketMs = performance.now();
  }

  /** How long the agent has been speaking, ms; 0 when it is silent. A pause below `gapMs` does not end it. */
  spokeForMs(gapMs: number): number {
    const now = performance.now();
    if (this.#voicedSinceMs === null || this.#lastVoicedMs === null || now - this.#lastVoicedMs > gapMs)
      return 0;
    return now - this.#voicedSinceMs;
  }

  /** How long the agent has been silent after it spoke, ms; 0 when it is speaking or never has. */
  quietForMs(): number {
    return this.#lastVoicedMs === null ? 0 : performance.now() - this.#lastVoicedMs;
  }

  /** Event-loop time of the agent's last voiced packet; null before the first. */
  get lastVoicedMs(): number | null {
    return this.#lastVoicedMs;
  }

  /** Time since the last packet of any kind, ms. */
  get starvedForMs(): number {
    return performance.now() - this.#lastPacketMs;
  }

  /** Spans of the agent's speech by arrival in this process, ms since 1970. */
  get stretches(): readonly Stretch[] {
    return this.#stretches;
  }

  /** The received audio, each packet at the position of its timestamp, with silence where none arrived. */
  heard(): Int16Array {
    return samplesOf(this.#heard.subarray(0, this.#heardSamples));
  }

  /** Another source has its own timestamps: they continue after the last one, with the silence in between. */
  #follow({ ssrc, timestamp }: { readonly ssrc: number; readonly timestamp: number }, idleMs: number): void {
    if (ssrc === this.#source) return;
    if (this.#firstHeard !== null)
      this.#shift = (this.#lastHeard + Math.round((idleMs / PACKET_MS) * this.#ticks) - timestamp) | 0;
    this.#source = ssrc;
  }

  /** Handles a datagram of the socket. */
  hear(datagram: Buffer): void {
    const packet = parseRtp(datagram);
    if (!packet) return;
    const now = performance.now();
    const idleMs = now - this.#lastPacketMs;
    this.#lastPacketMs = now;
    if (packet.payloadType !== this.#codec.payloadType) return;
    this.#follow(packet, idleMs);
    const payload = this.#inUlaw(packet.payload);
    this.#keep((packet.timestamp + this.#shift) >>> 0, payload);
    if (this.#line.hasEcho) this.#line.hear(samplesOf(payload));
    if (!isVoiced(payload)) return;
    if (this.#lastVoicedMs === null || now - this.#lastVoicedMs > SPEECH_GAP_MS) this.#voicedSinceMs = now;
    this.#lastVoicedMs = now;
    addVoice(this.#stretches, performance.timeOrigin + now);
  }

  #inUlaw(payload: Buffer): Buffer {
    return this.#codec.name === 'pcmu' ? payload : encodeBlock(this.#coding.decode(payload));
  }

  #keep(timestamp: number, payload: Buffer): void {
    this.#firstHeard ??= timestamp;
    this.#lastHeard = timestamp;
    const at = Math.round((((timestamp - this.#firstHeard) | 0) * PACKET_SAMPLES) / this.#ticks);
    const end = at + payload.length;
    if (at < 0 || end > MAX_HEARD_SAMPLES) return;
    if (end > this.#heard.length)
      this.#heard = Buffer.concat([
        this.#heard,
        Buffer.alloc(Math.max(end, FIRST_HEARD_SAMPLES), ULAW_SILENCE),
      ]);
    this.#heard.set(payload, at);
    this.#heardSamples = Math.max(this.#heardSamples, end);
  }
}
