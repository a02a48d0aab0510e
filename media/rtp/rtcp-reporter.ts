/**
 * RTCP reports of one RTP leg (RFC 3550 §6): when one is due, what it says, and the round trip computed from
 * the peer's. Does no sending itself.
 */
import type { Clock } from '#base/clock.ts';
import {
  type OwnReport,
  parseRtcp,
  type ReceptionReport,
  roundTripMs,
  shortSpan,
  writeRtcp,
} from './rtcp.ts';

/** Slots between reports: 5 s. */
const REPORT_SLOTS = 250;

/** The reports of one leg. */
export class RtcpReporter {
  readonly #clock: Clock;
  /** Spreads the reports of legs that began together. */
  readonly #phase: number;
  /** Canonical name of the source. It stays with a stream that moves (RFC 3550 §6.5.1). */
  cname: string;
  #lastReport = 0;
  #lastReportMs = 0;
  #roundTripMs: number | null = null;

  /** `seed`: any number, different for each leg. */
  constructor(clock: Clock, seed: number) {
    this.#clock = clock;
    this.#phase = seed % REPORT_SLOTS;
    this.cname = `${seed.toString(16)}@parley`;
  }

  /** The last measured round trip, ms; null before the peer answers a report. */
  get roundTripMs(): number | null {
    return this.#roundTripMs;
  }

  /** True once every 5 s. */
  isDue(slot: number): boolean {
    return (slot + this.#phase) % REPORT_SLOTS === REPORT_SLOTS - 1;
  }

  /** The report to send now. */
  write(
    own: Omit<OwnReport, 'reception'>,
    heard: Omit<ReceptionReport, 'lastReport' | 'sinceLastReport'> | null,
  ): Uint8Array {
    const sinceLastReport = this.#lastReport === 0 ? 0 : shortSpan(this.#clock.now() - this.#lastReportMs);
    return writeRtcp(
      { ...own, reception: heard && { ...heard, lastReport: this.#lastReport, sinceLastReport } },
      this.cname,
    );
  }

  /** Takes an RTCP packet of the peer; `ssrc` is the stream we send. */
  receive(datagram: Uint8Array, ssrc: number): void {
    const reports = parseRtcp(datagram);
    if (!reports) return;
    if (reports.sentAt !== null) {
      this.#lastReport = reports.sentAt;
      this.#lastReportMs = this.#clock.now();
    }
    const ofUs = reports.receptions.find((report) => report.ssrc === ssrc);
    if (ofUs) this.#roundTripMs = roundTripMs(ofUs, this.#clock.wallTime()) ?? this.#roundTripMs;
  }
}
