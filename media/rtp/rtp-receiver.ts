/**
 * The received side of one RTP leg: packets from the negotiated peer become frames of audio, one per 20 ms
 * slot, and key presses.
 */

import type { FrameKind } from '../dsp/frame.ts';
import { KeyDetector } from '../dsp/key-detector.ts';
import type { LegStats } from '../leg/leg.ts';
import type { LegAudio } from '../leg/leg-audio.ts';
import type { RtpCodec, RtpRemote } from '../leg/rtp-remote.ts';
import type { VoiceRateHz } from '../voice-activity/silero.ts';
import { ArrivalOrder } from './arrival-order.ts';
import { type CodecStreams, MAX_PAYLOAD_BYTES } from './codec-stream.ts';
import { CODECS, staticCodec } from './codec-table.ts';
import { DIGIT_CLOCK_HZ, DigitReceiver, type ReceivedDigit } from './dtmf.ts';
import { JitterBuffer } from './jitter-buffer.ts';
import { estimateMos } from './mos.ts';
import type { RtpPacket } from './packet.ts';
import { ReceiveStats } from './receive-stats.ts';

/** Comfort noise (RFC 3389). */
const COMFORT_NOISE_PAYLOAD_TYPE = 13;
/** Peers that offered both laws may switch between them. */
const G711: readonly RtpCodec[] = ['PCMU', 'PCMA'];
/** Longest wait of the detector for a missing packet, so that a lost one does not delay an interruption. */
const DETECTOR_WAIT_MS = 40;

/** A line returns our own tones for so long: they are no keys of the peer. */
const TONE_ECHO_MS = 500;

/** What the receiver shares with its leg. */
export interface RtpReceiverOptions {
  readonly rateHz: VoiceRateHz;
  readonly codecs: CodecStreams;
  readonly audio: LegAudio;
  /** When the last tone of a key was sent. */
  readonly lastToneMs: () => number;
}

/** Receives one leg's stream. */
export class RtpReceiver {
  readonly #rateHz: VoiceRateHz;
  readonly #codecs: CodecStreams;
  readonly #audio: LegAudio;
  readonly #lastToneMs: () => number;
  readonly #stats = new ReceiveStats();
  #remote: RtpRemote | null = null;
  #jitter: JitterBuffer;
  #order: ArrivalOrder;
  #digits = new DigitReceiver();
  /** Detects keys in the audio of a peer without telephone events. */
  #keys: KeyDetector | null = null;
  /** RTP time at which the last key went down. */
  #keyTimestamp: number | null = null;
  #framesHeard = 0;
  #framesConcealed = 0;

  constructor({ rateHz, codecs, audio, lastToneMs }: RtpReceiverOptions) {
    this.#rateHz = rateHz;
    this.#codecs = codecs;
    this.#audio = audio;
    this.#lastToneMs = lastToneMs;
    this.#jitter = new JitterBuffer(rateHz, rateHz);
    this.#order = this.#arrivalOrder();
  }

  /** Sets the peer's description; the stream continues. */
  setRemote(remote: RtpRemote): void {
    this.#remote = remote;
  }

  /** Starts a new stream of the peer: earlier audio and keys do not continue in it. */
  startStream(remote: RtpRemote): void {
    this.#remote = remote;
    this.#jitter = new JitterBuffer(this.#rateHz, CODECS[remote.codec].clockHz);
    this.#digits = new DigitReceiver(remote.digitClockHz);
    this.#keys = remote.digitPayloadType === null ? new KeyDetector(this.#rateHz) : null;
    this.#keyTimestamp = null;
    this.#order = this.#arrivalOrder();
  }

  /** Takes a packet that `isAcceptable`. */
  receive(packet: RtpPacket, remote: RtpRemote, nowMs: number): void {
    if (this.#stats.count(packet)) this.startStream(remote);
    const { payload, payloadType, timestamp } = packet;
    const isKey = payloadType === remote.digitPayloadType;
    const isAudio = !isKey && payloadType !== COMFORT_NOISE_PAYLOAD_TYPE;
    if (isKey)
      for (const digit of this.#digits.push(timestamp, payload, nowMs)) this.#reportDigit(digit, 'rfc4733');
    if (isAudio) this.#stats.time(timestamp, nowMs, CODECS[codecOf(payloadType, remote)].clockHz);
    const isBehind = !this.#order.push(packet, nowMs);
    // A late packet may still be played, unless the decoder's state is already past it.
    if (isBehind && isAudio && !CODECS[codecOf(payloadType, remote)].hasMemory)
      this.#buffer(packet, remote, nowMs);
  }

  /** Fills the leg's received frame for the slot due at `dueMs`; returns where its audio came from. */
  pull(remote: RtpRemote, dueMs: number, nowMs: number): FrameKind {
    this.#giveUpMissing(remote, nowMs);
    const kind = this.#jitter.pull(this.#audio.received, dueMs);
    if (kind === 'audio') this.#framesHeard++;
    if (kind === 'concealed') this.#framesConcealed++;
    this.#reportDigit(this.#digits.expire(nowMs), 'rfc4733');
    this.#reportDigit(this.#keys?.expire(nowMs) ?? null, 'inband');
    return kind;
  }

  /** How far playback of received audio is behind its arrival, in ms. */
  get lagMs(): number {
    return this.#jitter.lagMs;
  }

  /** Reception for an RTCP report. */
  reception(clockHz: number): ReturnType<ReceiveStats['reception']> {
    return this.#stats.reception(clockHz);
  }

  /** Quality of the stream so far. */
  quality(roundTripMs: number | null): Omit<LegStats, 'packetsSent'> {
    const { packetsReceived, packetsLost, jitterMs } = this.#stats.totals;
    const concealedShare = this.#framesConcealed / Math.max(1, this.#framesConcealed + this.#framesHeard);
    // A late packet counts as lost, and a duplicate does not make up for a loss.
    const lossShare = Math.max(concealedShare, packetsLost / Math.max(1, packetsLost + packetsReceived));
    const mos =
      packetsReceived > 0 ? estimateMos({ lossShare, roundTripMs: roundTripMs ?? 0, jitterMs }) : null;
    const jitterBufferMs = this.#jitter.delayMs;
    return { packetsReceived, packetsLost, jitterMs, roundTripMs, jitterBufferMs, concealedShare, mos };
  }

  #arrivalOrder(): ArrivalOrder {
    return new ArrivalOrder((packet, arrivedMs) => this.#takeInOrder(packet, arrivedMs));
  }

  #takeInOrder(packet: RtpPacket, arrivedMs: number): void {
    const remote = this.#remote;
    if (!remote) return;
    const { payloadType, timestamp } = packet;
    if (payloadType === COMFORT_NOISE_PAYLOAD_TYPE) this.#jitter.pushSilence(timestamp, arrivedMs);
    else if (payloadType === remote.digitPayloadType) this.#takeKey(timestamp, remote, arrivedMs);
    else {
      const { samples, spokenMs } = this.#buffer(packet, remote, arrivedMs);
      if (samples.length === 0) return;
      this.#audio.hear(samples, spokenMs);
      if (this.#keys && arrivedMs - this.#lastToneMs() > TONE_ECHO_MS)
        for (const digit of this.#keys.push(samples, spokenMs)) this.#reportDigit(digit, 'inband');
    }
  }

  /** Decodes a packet into the jitter buffer; its samples are valid until the next packet. */
  #buffer(
    { payload, payloadType, timestamp }: RtpPacket,
    remote: RtpRemote,
    arrivedMs: number,
  ): { samples: Int16Array; spokenMs: number } {
    const samples = this.#codecs.of(codecOf(payloadType, remote)).decode(payload);
    return { samples, spokenMs: samples.length > 0 ? this.#jitter.push(timestamp, samples, arrivedMs) : 0 };
  }

  /**
   * Stops waiting for missing packets when the audio behind them is due, and, if the decoder keeps no state,
   * when the detector has waited long enough.
   */
  #giveUpMissing(remote: RtpRemote, nowMs: number): void {
    if (!this.#order.isWaiting) return;
    const waitsMs = CODECS[remote.codec].hasMemory ? Number.POSITIVE_INFINITY : DETECTOR_WAIT_MS;
    this.#order.giveUp(
      ({ timestamp }, arrivedMs) => nowMs - arrivedMs >= waitsMs || this.#jitter.isDue(timestamp),
    );
  }

  /**
   * A key replaces audio. All its packets carry the time it went down, so later ones would look late. Events
   * with another clock than the audio's do not say where the audio is.
   */
  #takeKey(timestamp: number, remote: RtpRemote, arrivedMs: number): void {
    const clockHz = remote.digitClockHz ?? DIGIT_CLOCK_HZ;
    if (timestamp === this.#keyTimestamp || clockHz !== CODECS[remote.codec].clockHz) return;
    this.#keyTimestamp = timestamp;
    this.#jitter.pushSilence(timestamp, arrivedMs);
  }

  #reportDigit(digit: ReceivedDigit | null, source: 'rfc4733' | 'inband'): void {
    if (digit) this.#audio.emit({ type: 'digit', source, ...digit });
  }
}

/** True for a packet of a negotiated type and size. */
export function isAcceptable({ payload, payloadType }: RtpPacket, remote: RtpRemote): boolean {
  if (payload.length > MAX_PAYLOAD_BYTES) return false;
  if (payloadType === remote.payloadType || payloadType === remote.digitPayloadType) return true;
  if (payloadType === COMFORT_NOISE_PAYLOAD_TYPE) return CODECS[remote.codec].clockHz === CODECS.PCMU.clockHz;
  const codec = staticCodec(payloadType);
  return codec !== undefined && G711.includes(codec) && G711.includes(remote.codec);
}

function codecOf(payloadType: number, remote: RtpRemote): RtpCodec {
  return payloadType === remote.payloadType ? remote.codec : (staticCodec(payloadType) ?? remote.codec);
}
