/** The codecs of RTP legs in one table: their names in session descriptions, and their rates. */
import type { RtpCodec } from '../leg/rtp-remote.ts';
import type { VoiceRateHz } from '../voice-activity/silero.ts';

/** Facts about a codec. */
export interface CodecFacts {
  /** As in `a=rtpmap` (RFC 8866 §6.6). */
  readonly encoding: string;
  /** Sample rate on the leg, Hz. */
  readonly rateHz: VoiceRateHz;
  /** Rate of its RTP timestamps, Hz. */
  readonly clockHz: number;
  /** Static payload type (RFC 3551 §6), or null. */
  readonly staticType: number | null;
  /** Decoding a packet depends on earlier ones. */
  readonly hasMemory: boolean;
}

/** All codecs, in the order of our offers: carriers pass G.711 unchanged. */
export const CODECS: Readonly<Record<RtpCodec, CodecFacts>> = {
  PCMU: { encoding: 'PCMU/8000', rateHz: 8_000, clockHz: 8_000, staticType: 0, hasMemory: false },
  PCMA: { encoding: 'PCMA/8000', rateHz: 8_000, clockHz: 8_000, staticType: 8, hasMemory: false },
  // Its clock rate is half its sampling rate by a historical error (RFC 3551 §4.5.2).
  G722: { encoding: 'G722/8000', rateHz: 16_000, clockHz: 8_000, staticType: 9, hasMemory: true },
  // Always declared with two channels, whatever is sent (RFC 7587 §4.1, §7).
  opus: { encoding: 'opus/48000/2', rateHz: 16_000, clockHz: 48_000, staticType: null, hasMemory: true },
};

/** The codec of a static payload type. */
export function staticCodec(payloadType: number): RtpCodec | undefined {
  return codecNames().find((codec) => CODECS[codec].staticType === payloadType);
}

/** Names of all codecs, in the table's order. */
export function codecNames(): RtpCodec[] {
  return Object.keys(CODECS) as RtpCodec[];
}
