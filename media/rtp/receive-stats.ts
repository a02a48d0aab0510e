/**
 * Statistics of a received RTP stream: packets, loss (RFC 3550 A.3) and interarrival jitter (A.8), across
 * changes of its SSRC.
 */
import type { RtpPacket } from './packet.ts';
import { unwrap } from './packet.ts';
import type { ReceptionReport } from './rtcp.ts';

/** Reception counters of one leg. */
export class ReceiveStats {
  #received = 0;
  /** Packets received of earlier streams. */
  #receivedBefore = 0;
  /** Counts of the current stream at its last report. */
  #reported = { expected: 0, received: 0 };
  /** Packets expected of earlier streams. */
  #expectedBefore = 0;
  #ssrc: number | null = null;
  #firstSequence = 0;
  #highestSequence = 0;
  #transitMs: number | null = null;
  #jitterMs = 0;

  /** Counts a packet; true if it is the first of its stream. */
  count(packet: RtpPacket): boolean {
    const isNew = packet.ssrc !== this.#ssrc;
    if (isNew) this.#restart(packet);
    this.#received++;
    this.#highestSequence = Math.max(
      this.#highestSequence,
      unwrap(this.#highestSequence, packet.sequence, 16),
    );
    return isNew;
  }

  /** Adds the arrival of an audio packet to the jitter estimate; `clockHz` is the rate of its timestamp. */
  time(timestamp: number, arrivalMs: number, clockHz: number): void {
    const transitMs = arrivalMs - (timestamp * 1000) / clockHz;
    if (this.#transitMs !== null) {
      const difference = Math.abs(transitMs - this.#transitMs);
      // A jump of the sender's timeline is not jitter.
      if (difference < 1000) this.#jitterMs += (difference - this.#jitterMs) / 16;
    }
    this.#transitMs = transitMs;
  }

  /** Totals so far. With duplicates more packets may arrive than expected, which counts as no loss. */
  get totals(): {
    readonly packetsReceived: number;
    readonly packetsLost: number;
    readonly jitterMs: number;
  } {
    const expected = this.#expectedBefore + this.#expectedNow();
    return {
      packetsReceived: this.#received,
      packetsLost: Math.max(0, expected - this.#received),
      jitterMs: this.#jitterMs,
    };
  }

  /**
   * Reception of the current stream for a report (RFC 3550 §6.4.1, A.3); the loss is that since the last
   * report. Null before its first packet.
   */
  reception(clockHz: number): Omit<ReceptionReport, 'lastReport' | 'sinceLastReport'> | null {
    if (this.#ssrc === null) return null;
    const counts = { expected: this.#expectedNow(), received: this.#received - this.#receivedBefore };
    const expected = counts.expected - this.#reported.expected;
    const lost = Math.max(0, expected - (counts.received - this.#reported.received));
    this.#reported = counts;
    return {
      ssrc: this.#ssrc,
      fractionLost: expected > 0 ? Math.min(255, Math.floor((256 * lost) / expected)) : 0,
      packetsLost: Math.max(0, counts.expected - counts.received),
      highestSequence: this.#highestSequence,
      jitter: (this.#jitterMs * clockHz) / 1000,
    };
  }

  #expectedNow(): number {
    return this.#ssrc === null ? 0 : this.#highestSequence - this.#firstSequence + 1;
  }

  #restart(packet: RtpPacket): void {
    this.#expectedBefore += this.#expectedNow();
    this.#receivedBefore = this.#received;
    this.#reported = { expected: 0, received: 0 };
    this.#ssrc = packet.ssrc;
    this.#firstSequence = packet.sequence;
    this.#highestSequence = packet.sequence;
    this.#transitMs = null;
  }
}
