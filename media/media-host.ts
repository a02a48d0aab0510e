/**
 * `MediaHost`: the call loop's handle on the media thread. It opens legs; everything else goes through the legs themselves.
 * Implemented by `media/media-thread.ts` (real) and by the simulated legs of the tests.
 */
import type { Leg, RtpRemote } from './leg.ts';

/** What every leg is opened with. */
export interface LegOptions {
  /** Recorded when set; `firstSegment` continues the numbering of an earlier leg of the same call. */
  readonly recording: { readonly firstSegment: number } | null;
}

/** An RTP leg: the socket is bound before the remote is known, so that an offer or answer can name the port. */
export interface RtpLegOptions extends LegOptions {
  /** Address to bind and to send from. */
  readonly localAddress: string;
  /** Where to send and what; null until the answer is known (then `setRemote`). */
  readonly remote: RtpRemote | null;
}

/** A browser's peer connection, answered with all candidates gathered. */
export interface WebrtcLegOptions extends LegOptions {
  readonly offerSdp: string;
}

/** Opens legs on the media thread. */
export interface MediaHost {
  /** Throws `Fault('no_media_port')` when the slice of RTP ports is used up. */
  openRtpLeg(options: RtpLegOptions): Promise<{ readonly leg: Leg; readonly localPort: number }>;
  /** Throws `Fault('sdp_unusable')` when the offer has no audio that can be answered. */
  openWebrtcLeg(options: WebrtcLegOptions): Promise<{ readonly leg: Leg; readonly answerSdp: string }>;
  /** Closes every leg and ends the thread. */
  close(): Promise<void>;
}
