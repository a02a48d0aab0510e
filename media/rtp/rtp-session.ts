/**
 * One RTP leg on the media thread: a UDP socket held to the negotiated peer, a jitter buffer in, one packet
 * per 20 ms slot out, key presses both ways, and a hang-up when the far end's media stops.
 */

import { randomInt } from 'node:crypto';
import type { RemoteInfo } from 'node:dgram';
import { KeyDetector } from '../dsp/key-detector.ts';
import { fillKeyTone } from '../dsp/tones.ts';
import type { FrameKind, LegCloseReason, LegCommand, LegStats, RtpCodec, RtpRemote } from '../leg/leg.ts';
import { LegAudio, type MediaShared, type TransportLeg } from '../leg/leg-audio.ts';
import type { RtpLegOptions } from '../leg/media-host.ts';
import { frameSamples, type OpenedLeg } from '../leg/media-messages.ts';
import type { Paced } from '../leg/pacer.ts';
import type { VoiceRateHz } from '../voice-activity/silero.ts';
import { ArrivalOrder } from './arrival-order.ts';
import { CodecStream, MAX_ENCODED_BYTES, MAX_PAYLOAD_BYTES } from './codec-stream.ts';
import { CODECS, staticCodec } from './codec-table.ts';
import { DIGIT_CLOCK_HZ, DigitReceiver, DigitSender, type ReceivedDigit } from './dtmf.ts';
import { JitterBuffer } from './jitter-buffer.ts';
import { Latch } from './latch.ts';
import { estimateMos } from './mos.ts';
import { parseRtp, RTP_HEADER_BYTES, type RtpPacket, writeRtpHeader } from './packet.ts';
import type { PortPool } from './port-pool.ts';
import { ReceiveStats } from './receive-stats.ts';
import { isRtcp } from './rtcp.ts';
import { RtcpReporter } from './rtcp-reporter.ts';
import { bindRtpSockets, type RtpSockets } from './rtp-sockets.ts';
import { SRTP_GROWTH_BYTES, type SrtpKeys, SrtpReceiver, SrtpSender } from './srtp.ts';

/** A call whose far end sends nothing for this long is over, unless we are on hold. */
const MEDIA_TIMEOUT_MS = 30_000;
/**
 * A slot served later than this is left out of the stream rather than sent in a burst the far end would drop.
 */
const MAX_SEND_LATENESS_MS = 100;
const MAX_PORT = 65_535;
/** Rate of a leg whose far end is not known yet: that of nearly every phone. */
const UNKNOWN_RATE_HZ = 8000;
/** Comfort noise (RFC 3389). */
const COMFORT_NOISE_PAYLOAD_TYPE = 13;
/** Peers that offered both laws may switch between them. */
const G711: readonly RtpCodec[] = ['PCMU', 'PCMA'];
/** The detector waits no longer for a missing packet: a lost one must not make an interruption late. */
const DETECTOR_WAIT_MS = 40;
/** A packet's buffer is reused this many slots later, when the system has long sent it. */
const SEND_BUFFERS = 8;

/** What an RTP leg needs beyond what all legs share. */
export interface RtpSessionOptions extends RtpLegOptions {
  readonly leg: number;
  readonly ports: PortPool;
  readonly onClosed: () => void;
}

/** Binds a socket and puts the leg on the wheel; throws `Fault('no_media_port')`. */
export async function openRtpSession(
  options: RtpSessionOptions,
  shared: MediaShared,
): Promise<{ leg: TransportLeg; opened: OpenedLeg }> {
  const sockets = await bindRtpSockets(options.localAddress, options.ports);
  const session = new RtpSession(sockets, options, shared);
  const { rateHz } = session;
  const opened = {
    inRateHz: rateHz,
    outRateHz: rateHz,
    originMs: session.originMs,
    localPort: sockets.port,
    answerSdp: null,
  };
  return { leg: session, opened };
}

class RtpSession implements TransportLeg, Paced {
  readonly originMs: number;
  /** Rate of the leg both ways, whatever codec a later description brings. */
  readonly rateHz: VoiceRateHz;
  readonly #shared: MediaShared;
  readonly #sockets: RtpSockets;
  readonly #options: RtpSessionOptions;
  readonly #audio: LegAudio;
  readonly #latch = new Latch();
  readonly #stats = new ReceiveStats();
  readonly #reporter: RtcpReporter;
  readonly #digitSender = new DigitSender();
  readonly #packets = Array.from(
    { length: SEND_BUFFERS },
    () => new Uint8Array(RTP_HEADER_BYTES + MAX_ENCODED_BYTES + SRTP_GROWTH_BYTES),
  );
  /** Codecs in use, each with what it remembers of the stream. */
  readonly #codecs = new Map<RtpCodec, CodecStream>();
  #ssrc = randomInt(2 ** 32);
  readonly #firstTimestamp = randomInt(2 ** 32);
  #sequence = randomInt(2 ** 16);
  #packetsSent = 0;
  #bytesSent = 0;
  #isTalkspurt = false;
  #pressTimestamp = 0;
  #digits = new DigitReceiver();
  /** Listens for keys in the audio of a far end that knows no telephone events. */
  #keys: KeyDetector | null = null;
  #jitter: JitterBuffer;
  #remote: RtpRemote | null = null;
  /** Both null while the streams are plain. */
  #srtpSender: SrtpSender | null = null;
  #srtpReceiver: SrtpReceiver | null = null;
  #isConnected = false;
  #isClosed = false;
  #lastMediaMs = 0;
  #framesHeard = 0;
  #framesConcealed = 0;
  #order: ArrivalOrder;
  /** When the key went down that was pressed last, in RTP time. */
  #keyTimestamp: number | null = null;

  constructor(sockets: RtpSockets, options: RtpSessionOptions, shared: MediaShared) {
    this.#sockets = sockets;
    this.#options = options;
    this.#shared = shared;
    this.originMs = shared.pacer.add(this);
    this.#reporter = new RtcpReporter(shared.clock, randomInt(2 ** 32));
    this.rateHz = options.remote ? CODECS[options.remote.codec].rateHz : UNKNOWN_RATE_HZ;
    this.#jitter = new JitterBuffer(this.rateHz, this.rateHz);
    this.#order = this.#arrivalOrder();
    const rates = { inRateHz: this.rateHz, outRateHz: this.rateHz };
    this.#audio = new LegAudio(
      { leg: options.leg, ...rates, originMs: this.originMs, recording: options.recording },
      shared,
    );
    if (options.remote) this.#setRemote(options.remote);
    sockets.media.on('message', (datagram, from) => this.#receiveSafely(datagram, from));
    sockets.reports.on('message', (datagram, from) => this.#receiveReport(datagram, from));
    for (const socket of [sockets.media, sockets.reports]) socket.on('error', (error) => this.fail(error));
  }

  command(command: LegCommand): void {
    if (this.#isClosed || this.#audio.command(command)) return;
    if (command.do === 'sendDigits') this.#digitSender.enqueue(command.digits);
    if (command.do === 'setRemote') {
      this.#audio.isEarly = command.isEarly === true;
      this.#setRemote(command.remote);
    }
    if (command.do === 'close') this.#end('local');
  }

  close(): Promise<void> {
    this.#end('local');
    return Promise.resolve();
  }

  tick(slot: number, dueMs: number): void {
    if (this.#isClosed || !this.#remote) return;
    const nowMs = this.#shared.clock.now();
    this.#giveUpMissing(this.#remote, nowMs);
    const kind: FrameKind = this.#jitter.pull(this.#audio.received, dueMs);
    if (kind === 'audio') this.#framesHeard++;
    if (kind === 'concealed') this.#framesConcealed++;
    this.#reportDigit(this.#digits.expire(nowMs), 'rfc4733');
    this.#reportDigit(this.#keys?.expire(nowMs) ?? null, 'inband');
    this.#send(slot, dueMs, nowMs - dueMs <= MAX_SEND_LATENESS_MS);
    this.#audio.endSlot(slot, dueMs, kind, this.#jitter.lagMs);
    if (this.#reporter.isDue(slot)) this.#sendReport(slot, this.#remote);
    if (this.#remote.sending && nowMs - this.#lastMediaMs > MEDIA_TIMEOUT_MS) this.#end('media_timeout');
  }

  #setRemote(remote: RtpRemote): void {
    if (this.#remote?.codec !== remote.codec || this.#remote.digitPayloadType !== remote.digitPayloadType)
      this.#renegotiate(remote);
    this.#setKeys(this.#remote?.srtp, remote.srtp);
    const hasPort = Number.isInteger(remote.port) && remote.port > 0 && remote.port <= MAX_PORT;
    // Port 0 means that the far end refuses the stream (RFC 3264 §6): nothing can be sent there.
    this.#remote = hasPort ? remote : { ...remote, sending: false };
    this.#latch.negotiate(remote);
    this.#lastMediaMs = this.#shared.clock.now();
  }

  /** A key that stays keeps its place in the stream (RFC 3711 §3.2.1). */
  #setKeys(before: SrtpKeys | undefined, keys: SrtpKeys | undefined): void {
    if (before?.sendKey !== keys?.sendKey || before?.suite !== keys?.suite)
      this.#srtpSender = keys ? new SrtpSender(keys.suite, keys.sendKey) : null;
    if (before?.receiveKey !== keys?.receiveKey || before?.suite !== keys?.suite)
      this.#srtpReceiver = keys ? new SrtpReceiver(keys) : null;
  }

  /**
   * Timestamps of another clock need another source identifier (RFC 3550 §5.2), and what was received so far
   * does not go on in them.
   */
  #renegotiate(remote: RtpRemote): void {
    const before = this.#remote;
    this.#codecs.clear();
    if (before && CODECS[before.codec].clockHz !== CODECS[remote.codec].clockHz)
      this.#ssrc = randomInt(2 ** 32);
    this.#startStream(remote);
  }

  #codec(codec: RtpCodec): CodecStream {
    const known = this.#codecs.get(codec);
    if (known) return known;
    const stream = new CodecStream(codec, this.rateHz);
    this.#codecs.set(codec, stream);
    return stream;
  }

  #receiveSafely(datagram: Uint8Array, from: RemoteInfo): void {
    try {
      this.#receive(datagram, from);
    } catch (error) {
      this.fail(error);
    }
  }

  #receive(datagram: Uint8Array, from: RemoteInfo): void {
    if (isRtcp(datagram)) {
      this.#receiveReport(datagram, from);
      return;
    }
    const remote = this.#remote;
    if (this.#isClosed || !remote) return;
    const plain = this.#srtpReceiver ? this.#srtpReceiver.open(datagram) : datagram;
    const packet = plain && parseRtp(plain);
    if (!packet || packet.payload.length > MAX_PAYLOAD_BYTES || !isNegotiated(packet.payloadType, remote))
      return;
    const nowMs = this.#shared.clock.now();
    if (!this.#latch.accepts(from, packet.ssrc, nowMs)) return;
    this.#lastMediaMs = nowMs;
    if (!this.#isConnected) this.#audio.emit({ type: 'connected', atMs: nowMs });
    this.#isConnected = true;
    if (this.#stats.count(packet)) this.#startStream(remote);
    this.#take(packet, remote, nowMs);
  }

  /** Reports count only from where the media comes from. */
  #receiveReport(datagram: Uint8Array, from: RemoteInfo): void {
    if (this.#isClosed || from.address !== this.#latch.target?.address) return;
    const plain = this.#srtpReceiver ? this.#srtpReceiver.openReport(datagram) : datagram;
    if (plain) this.#reporter.receive(plain, this.#ssrc);
  }

  #sendReport(slot: number, remote: RtpRemote): void {
    const target = this.#latch.target;
    const isMuxed = remote.isRtcpMuxed === true;
    const port = (target?.port ?? 0) + (isMuxed ? 0 : 1);
    if (!target || !remote.sending || port > MAX_PORT) return;
    const { clockHz } = CODECS[remote.codec];
    const timestamp = this.#timestampOf(slot, remote);
    const sent = {
      wallMs: this.#shared.clock.wallTime(),
      timestamp,
      packets: this.#packetsSent,
      bytes: this.#bytesSent,
    };
    const report = this.#reporter.write(
      { ssrc: this.#ssrc, sent: this.#packetsSent > 0 ? sent : null },
      this.#stats.reception(clockHz),
    );
    const socket = isMuxed ? this.#sockets.media : this.#sockets.reports;
    socket.send(this.#srtpSender?.protectReport(report) ?? report, port, target.address, () => undefined);
  }

  #timestampOf(slot: number, remote: RtpRemote): number {
    return this.#firstTimestamp + slot * frameSamples(CODECS[remote.codec].clockHz);
  }

  #startStream(remote: RtpRemote): void {
    this.#jitter = new JitterBuffer(this.rateHz, CODECS[remote.codec].clockHz);
    this.#digits = new DigitReceiver(remote.digitClockHz);
    this.#keys = remote.digitPayloadType === null ? new KeyDetector(this.rateHz) : null;
    this.#keyTimestamp = null;
    this.#order = this.#arrivalOrder();
  }

  #arrivalOrder(): ArrivalOrder {
    return new ArrivalOrder((packet, arrivedMs) => this.#takeInOrder(packet, arrivedMs));
  }

  #take(packet: RtpPacket, remote: RtpRemote, nowMs: number): void {
    const { payload, payloadType, timestamp } = packet;
    const isKey = payloadType === remote.digitPayloadType;
    const isAudio = !isKey && payloadType !== COMFORT_NOISE_PAYLOAD_TYPE;
    if (isKey)
      for (const digit of this.#digits.push(timestamp, payload, nowMs)) this.#reportDigit(digit, 'rfc4733');
    if (isAudio) this.#stats.time(timestamp, nowMs, CODECS[codecOf(payloadType, remote)].clockHz);
    const isBehind = !this.#order.push(packet, nowMs);
    // It may still be heard, unless the decoder has gone on without it.
    if (isBehind && isAudio && !CODECS[codecOf(payloadType, remote)].hasMemory)
      this.#buffer(packet, remote, nowMs);
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
      if (this.#keys)
        for (const digit of this.#keys.push(samples, spokenMs)) this.#reportDigit(digit, 'inband');
    }
  }

  /** Decodes a packet into the jitter buffer; its samples are good until the next one. */
  #buffer(
    { payload, payloadType, timestamp }: RtpPacket,
    remote: RtpRemote,
    arrivedMs: number,
  ): { samples: Int16Array; spokenMs: number } {
    const samples = this.#codec(codecOf(payloadType, remote)).decode(payload);
    return { samples, spokenMs: samples.length > 0 ? this.#jitter.push(timestamp, samples, arrivedMs) : 0 };
  }

  /**
   * What is missing is not waited for when what follows has to be played, nor, where the decoder can do
   * without it, when the detector has waited.
   */
  #giveUpMissing(remote: RtpRemote, nowMs: number): void {
    if (!this.#order.isWaiting) return;
    const waitsMs = CODECS[remote.codec].hasMemory ? Number.POSITIVE_INFINITY : DETECTOR_WAIT_MS;
    this.#order.giveUp(
      ({ timestamp }, arrivedMs) => nowMs - arrivedMs >= waitsMs || this.#jitter.isDue(timestamp),
    );
  }

  /**
   * A key takes the place of audio. All its packets bear the time it went down: later ones would pass for
   * late.
   */
  #takeKey(timestamp: number, remote: RtpRemote, arrivedMs: number): void {
    // Events of another clock than the audio's say nothing about where the audio is.
    if (
      timestamp === this.#keyTimestamp ||
      (remote.digitClockHz ?? DIGIT_CLOCK_HZ) !== CODECS[remote.codec].clockHz
    )
      return;
    this.#keyTimestamp = timestamp;
    this.#jitter.pushSilence(timestamp, arrivedMs);
  }

  #reportDigit(digit: ReceivedDigit | null, source: 'rfc4733' | 'inband'): void {
    if (digit) this.#audio.emit({ type: 'digit', source, ...digit });
  }

  /**
   * Sends the slot's packet: a key press where one is due (as a tone where the peer takes no events), else
   * reply audio or silence.
   */
  #send(slot: number, dueMs: number, isInTime: boolean): void {
    const remote = this.#remote;
    const canSend = isInTime && remote?.sending === true;
    const press = canSend && this.#digitSender.isSending;
    this.#audio.fillSent(dueMs, canSend && !press);
    if (!canSend || !remote) {
      this.#isTalkspurt = false;
      return;
    }
    const timestamp = this.#timestampOf(slot, remote);
    const digit = press ? this.#digitSender.next(remote.digitClockHz) : null;
    const packet = this.#packets[this.#sequence % SEND_BUFFERS] as Uint8Array;
    if (digit && remote.digitPayloadType !== null) {
      if (digit.isFirst) this.#pressTimestamp = timestamp;
      packet.set(digit.payload, RTP_HEADER_BYTES);
      this.#transmit(packet, RTP_HEADER_BYTES + digit.payload.length, {
        marker: digit.isFirst,
        payloadType: remote.digitPayloadType,
        timestamp: this.#pressTimestamp,
      });
      return;
    }
    if (digit && digit.heldMs !== null)
      fillKeyTone(digit.key, this.rateHz, digit.heldMs * (this.rateHz / 1000), this.#audio.sent);
    const end = this.#codec(remote.codec).encode(this.#audio.sent, packet, RTP_HEADER_BYTES);
    this.#transmit(packet, end, { marker: !this.#isTalkspurt, payloadType: remote.payloadType, timestamp });
    this.#isTalkspurt = true;
  }

  /** Sends the first `length` bytes of `packet`, which has room behind them. */
  #transmit(
    packet: Uint8Array,
    length: number,
    header: { readonly marker: boolean; readonly payloadType: number; readonly timestamp: number },
  ): void {
    const target = this.#latch.target;
    if (!target) return;
    writeRtpHeader(packet, { ...header, sequence: this.#sequence, ssrc: this.#ssrc });
    this.#sequence = (this.#sequence + 1) & 0xffff;
    this.#packetsSent++;
    this.#bytesSent += length - RTP_HEADER_BYTES;
    const end = this.#srtpSender?.protect(packet, length) ?? length;
    // A refused or full send loses one packet, as the network may at any time: nothing to do about it.
    // Without a callback Node tells nobody, and does less.
    this.#sockets.media.send(packet.subarray(0, end), target.port, target.address);
  }

  fail(error: unknown): void {
    this.#shared.log('error', 'RTP leg failed', error);
    this.#end('failed');
  }

  #legStats(): LegStats {
    const { packetsReceived, packetsLost, jitterMs } = this.#stats.totals;
    const { roundTripMs } = this.#reporter;
    const concealedShare = this.#framesConcealed / Math.max(1, this.#framesConcealed + this.#framesHeard);
    // A packet that came too late was as good as lost, and one that came twice makes up for none.
    const lossShare = Math.max(concealedShare, packetsLost / Math.max(1, packetsLost + packetsReceived));
    const mos =
      packetsReceived > 0 ? estimateMos({ lossShare, roundTripMs: roundTripMs ?? 0, jitterMs }) : null;
    const jitterBufferMs = this.#jitter.delayMs;
    return {
      packetsReceived,
      packetsLost,
      jitterMs,
      packetsSent: this.#packetsSent,
      roundTripMs,
      jitterBufferMs,
      concealedShare,
      mos,
    };
  }

  #end(reason: LegCloseReason): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#shared.pacer.remove(this);
    this.#audio.close();
    const atMs = this.#shared.clock.now();
    this.#audio.emit({ type: 'closed', atMs, reason, stats: this.#legStats() });
    const { media, reports, port } = this.#sockets;
    reports.close(() => media.close(() => this.#options.ports.release(port)));
    this.#options.onClosed();
  }
}

function codecOf(payloadType: number, remote: RtpRemote): RtpCodec {
  return payloadType === remote.payloadType ? remote.codec : (staticCodec(payloadType) ?? remote.codec);
}

function isNegotiated(payloadType: number, remote: RtpRemote): boolean {
  if (payloadType === remote.payloadType || payloadType === remote.digitPayloadType) return true;
  if (payloadType === COMFORT_NOISE_PAYLOAD_TYPE) return CODECS[remote.codec].clockHz === CODECS.PCMU.clockHz;
  const codec = staticCodec(payloadType);
  return codec !== undefined && G711.includes(codec) && G711.includes(remote.codec);
}
