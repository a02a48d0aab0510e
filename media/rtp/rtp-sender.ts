/** The sent side of one RTP leg: one packet per 20 ms slot, with audio or a key press, and counters. */

import { randomInt } from 'node:crypto';
import type { Socket } from 'node:dgram';
import { FRAME_MS, frameSamples } from '../dsp/frame.ts';
import { fillKeyTone } from '../dsp/tones.ts';
import type { RestOfSent } from '../leg/leg.ts';
import type { LegAudio } from '../leg/leg-audio.ts';
import type { RtpRemote } from '../leg/rtp-remote.ts';
import type { VoiceRateHz } from '../voice-activity/silero.ts';
import { type CodecStreams, MAX_ENCODED_BYTES } from './codec-stream.ts';
import { CODECS } from './codec-table.ts';
import { DigitSender } from './dtmf.ts';
import type { Latch } from './latch.ts';
import { RTP_HEADER_BYTES, writeRtpHeader } from './packet.ts';
import { SRTP_GROWTH_BYTES, type SrtpSender } from './srtp.ts';

/** A packet's buffer is reused this many slots later, long after the system has sent it. */
const SEND_BUFFERS = 8;
/**
 * A released stream goes on for so many packets: time for the next sender to learn its numbers, so that the
 * far end hears no pause.
 */
const RELEASE_PACKETS = 2;

/** What the sender shares with its leg. */
export interface RtpSenderOptions {
  readonly rateHz: VoiceRateHz;
  readonly codecs: CodecStreams;
  readonly audio: LegAudio;
  readonly socket: Socket;
  readonly latch: Latch;
  /** When slot 0 is due, ms. */
  readonly originMs: number;
  /** Sends nothing before `continueStream`. */
  readonly isHeld: boolean;
  /** Gets the id of keys that have been sent. */
  readonly onDigitsSent: (pressId: string) => void;
}

/** The rest of a stream without its canonical name, which is in RTCP reports only. */
type RestOfPackets = Omit<RestOfSent, 'cname'>;

/** Sends one leg's stream to the latched peer. */
export class RtpSender {
  readonly #options: RtpSenderOptions;
  readonly #digits: DigitSender;
  readonly #packets = Array.from(
    { length: SEND_BUFFERS },
    () => new Uint8Array(RTP_HEADER_BYTES + MAX_ENCODED_BYTES + SRTP_GROWTH_BYTES),
  );
  /**
   * Slots that are due within this time are sent: another sender has those before and after it. Its ends lie
   * between two slots.
   */
  readonly #turn: { fromMs: number; untilMs: number };
  #firstTimestamp = randomInt(2 ** 32);
  #ssrc = randomInt(2 ** 32);
  #sequence = randomInt(2 ** 16);
  #packetsSent = 0;
  #bytesSent = 0;
  #isTalkspurt = false;
  #pressTimestamp = 0;
  /** When the last tone of a key was sent, ms. */
  lastToneMs = Number.NEGATIVE_INFINITY;
  /** Null while the stream is not encrypted. */
  srtp: SrtpSender | null = null;

  constructor(options: RtpSenderOptions) {
    this.#options = options;
    this.#digits = new DigitSender(options.onDigitsSent);
    const never = Number.POSITIVE_INFINITY;
    this.#turn = { fromMs: options.isHeld ? never : -never, untilMs: never };
  }

  get ssrc(): number {
    return this.#ssrc;
  }

  get packetsSent(): number {
    return this.#packetsSent;
  }

  /** Payload sent so far, in bytes. */
  get bytesSent(): number {
    return this.#bytesSent;
  }

  /** Timestamps of another clock need another source identifier (RFC 3550 §5.2). */
  renewSource(): void {
    this.#ssrc = randomInt(2 ** 32);
  }

  /** False before its turn, and after it. */
  isSending(dueMs: number): boolean {
    return dueMs >= this.#turn.fromMs && dueMs < this.#turn.untilMs;
  }

  /** True once no slot that is due from this time on is sent. */
  isOver(dueMs: number): boolean {
    return dueMs >= this.#turn.untilMs;
  }

  /**
   * Gives the stream up, after some more packets; null if it sends none that another sender may go on with.
   * That of an encrypted stream would begin to count its wraps at zero, and the far end would not (RFC 3711
   * §3.3.1).
   */
  release(nextSlot: number, remote: RtpRemote, packets = RELEASE_PACKETS): RestOfPackets | null {
    const slot = nextSlot + packets;
    const dueMs = this.#options.originMs + slot * FRAME_MS;
    if (!remote.sending || this.srtp || !this.isSending(dueMs)) return null;
    this.#turn.untilMs = dueMs - FRAME_MS / 2;
    return {
      ssrc: this.#ssrc,
      sequence: (this.#sequence + packets) & 0xffff,
      timestamp: this.timestampOf(slot, remote) >>> 0,
      clockHz: CODECS[remote.codec].clockHz,
      packets: this.#packetsSent + packets,
      bytes: this.#bytesSent,
      dueMs,
    };
  }

  /**
   * Sends from now on: the rest of another sender's stream from the slot that is nearest to it, or a stream
   * of its own if there is none, it has another clock, or this one is encrypted. A slot that is later than
   * the rest was due has a later timestamp, and still the next sequence number. Returns whether it goes on.
   */
  continueStream(rest: RestOfPackets | null, remote: RtpRemote, nowMs: number): boolean {
    const { originMs } = this.#options;
    const { clockHz } = CODECS[remote.codec];
    if (rest?.clockHz !== clockHz || this.srtp) {
      this.#turn.fromMs = Number.NEGATIVE_INFINITY;
      return false;
    }
    const slot = Math.max(
      0,
      Math.round((rest.dueMs - originMs) / FRAME_MS),
      Math.ceil((nowMs - originMs) / FRAME_MS),
    );
    const lateSlots = Math.max(0, Math.round((originMs + slot * FRAME_MS - rest.dueMs) / FRAME_MS));
    this.#turn.fromMs = originMs + (slot - 0.5) * FRAME_MS;
    this.#firstTimestamp = rest.timestamp + (lateSlots - slot) * frameSamples(clockHz);
    this.#ssrc = rest.ssrc;
    this.#sequence = rest.sequence;
    this.#packetsSent = rest.packets;
    this.#bytesSent = rest.bytes;
    this.#isTalkspurt = true;
    return true;
  }

  /** Queues key presses and pauses. */
  press(digits: string, pressId: string | null): void {
    this.#digits.enqueue(digits, pressId);
  }

  /** Sends none of the queued keys. */
  dropDigits(): void {
    this.#digits.drop();
  }

  /** RTP time of a slot. */
  timestampOf(slot: number, remote: RtpRemote): number {
    return this.#firstTimestamp + slot * frameSamples(CODECS[remote.codec].clockHz);
  }

  /**
   * Sends the slot's packet: a due key press (as a tone if the peer takes no events), else reply audio or
   * silence. A slot that is not `isInTime` is skipped.
   */
  send(slot: number, dueMs: number, isInTime: boolean, remote: RtpRemote): void {
    const { audio, codecs, rateHz } = this.#options;
    const canSend = isInTime && remote.sending && this.isSending(dueMs);
    const press = canSend && this.#digits.isSending;
    audio.fillSent(dueMs, canSend && !press);
    if (!canSend) {
      if (dueMs >= this.#turn.fromMs) this.#isTalkspurt = false;
      return;
    }
    const timestamp = this.timestampOf(slot, remote);
    const digit = press ? this.#digits.next(remote.digitClockHz) : null;
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
    if (digit && digit.heldMs !== null) {
      this.lastToneMs = dueMs;
      fillKeyTone(digit.key, rateHz, digit.heldMs * (rateHz / 1000), audio.sent);
    }
    const end = codecs.of(remote.codec).encode(audio.sent, packet, RTP_HEADER_BYTES);
    this.#transmit(packet, end, { marker: !this.#isTalkspurt, payloadType: remote.payloadType, timestamp });
    this.#isTalkspurt = true;
  }

  /** Sends the first `length` bytes of `packet`, which has room after them. */
  #transmit(
    packet: Uint8Array,
    length: number,
    header: { readonly marker: boolean; readonly payloadType: number; readonly timestamp: number },
  ): void {
    const { target } = this.#options.latch;
    if (!target) return;
    writeRtpHeader(packet, { ...header, sequence: this.#sequence, ssrc: this.#ssrc });
    this.#sequence = (this.#sequence + 1) & 0xffff;
    this.#packetsSent++;
    this.#bytesSent += length - RTP_HEADER_BYTES;
    const end = this.srtp?.protect(packet, length) ?? length;
    // A refused or full send loses one packet, as the network may. Without a callback Node does less work.
    this.#options.socket.send(packet.subarray(0, end), target.port, target.address);
  }
}
