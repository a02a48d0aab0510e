/**
 * `MediaHost`: the call loop's handle on the media thread. It opens legs; everything else goes through the
 * legs themselves. Implemented by `media/thread/start-media-thread.ts` (real) and by the simulated legs of
 * the tests.
 */
import type { Leg, RtpRemote } from './leg.ts';

/** What is recorded of a leg. */
export interface LegRecording {
  /** Continues the numbering of an earlier leg of the same call. */
  readonly firstSegment: number;
  /**
   * `human`: only what the far end says, and only while the leg is bridged or relayed. Otherwise both sides,
   * all the time.
   */
  readonly of?: 'human';
}

/** What every leg is opened with. */
export interface LegOptions {
  /** Recorded when set. */
  readonly recording: LegRecording | null;
}

/**
 * An RTP leg: the socket is bound before the remote is known, so that an offer or answer can name the port.
 */
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

/** A participant of a LiveKit room. */
export interface LivekitLegOptions extends LegOptions {
  /** Address of the LiveKit server (ws or wss). */
  readonly url: string;
  /** The agent's own participant token. */
  readonly token: string;
  /** The participant whose voice and messages are the caller's. */
  readonly callerIdentity: string;
}

/** What can be loaded ahead of a first leg. */
export type Transport = 'rtp' | 'webrtc';

/** Opens legs on the media thread. */
export interface MediaHost {
  /**
   * Loads what the first leg of each of these would otherwise wait for: processes, native libraries, the
   * speech detector. Returns at once; a fault shows with the leg.
   */
  warmUp(transports: readonly Transport[]): void;
  /** Throws `Fault('no_media_port')` when the slice of RTP ports is used up. */
  openRtpLeg(options: RtpLegOptions): Promise<{ readonly leg: Leg; readonly localPort: number }>;
  /** Throws `Fault('sdp_unusable')` when the offer has no audio that can be answered. */
  openWebrtcLeg(options: WebrtcLegOptions): Promise<{ readonly leg: Leg; readonly answerSdp: string }>;
  /** Joins a room. Throws `Fault('gateway_unreachable')` when that cannot be done. */
  openLivekitLeg(options: LivekitLegOptions): Promise<{ readonly leg: Leg }>;
  /** Closes every leg and ends the thread. */
  close(): Promise<void>;
}
