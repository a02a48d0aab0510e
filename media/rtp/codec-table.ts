/**
 * The codecs an RTP leg can carry, in one table: what session descriptions call them, and at which rates they
 * run.
 */
import type { RtpCodec } from '../leg/leg.ts';
import type { VoiceRateHz } from '../voice-activity/silero.ts';

/** Facts about one codec. */
export interface CodecFacts {
  /** As `a=rtpmap` writes it (RFC 8866 §6.6). */
  readonly encoding: string;
  /** Rate of its audio as a leg hears and plays it, Hz. */
  readonly rateHz: VoiceRateHz;
  /** Rate of its RTP timestamps, Hz. */
  readonly clockHz: number;
  /** Payload type where one is assigned for good (RFC 3551 §6), else null. */
  readonly staticType: number | null;
  /** Each packet is decoded from what those before it left. */
  readonly hasMemory: boolean;
}

/** All codecs, in the order of our own offers: carriers pass G.711 through as it is. */
export const CODECS: Readonly<Record<RtpCodec, CodecFacts>> = {
  PCMU: { encoding: 'PCMU/8000', rateHz: 8_000, clockHz: 8_000, staticType: 0, hasMemory: false },
  PCMA: { encoding: 'PCMA/8000', rateHz: 8_000, clockHz: 8_000, staticType: 8, hasMemory: false },
  // Its clock is half its sampling rate by a mistake that was never undone (RFC 3551 §4.5.2).
  G722: { encoding: 'G722/8000', rateHz: 16_000, clockHz: 8_000, staticType: 9, hasMemory: true },
  // Always written with two channels, which says nothing about what is sent (RFC 7587 §4.1, §7).
  opus: { encoding: 'opus/48000/2', rateHz: 16_000, clockHz: 48_000, staticType: null, hasMemory: true },
};

/** The codec of a static payload type. */
export function staticCodec(payloadType: number): RtpCodec | undefined {
  return codecNames().find((codec) => CODECS[codec].staticType === payloadType);
}

/** Every codec's name, in the table's order. */
export function codecNames(): RtpCodec[] {
  return Object.keys(CODECS) as RtpCodec[];
}
