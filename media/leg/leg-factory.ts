/**
 * `LegFactory`: opens the legs of a worker on its media thread; everything else goes through the legs.
 * Implemented by `media/thread/start-media-thread.ts` and by simulated legs in the tests.
 */
import type { StreamVendor } from '#protocol/media-streams.ts';
import type { Leg } from './leg.ts';
import type { RtpRemote } from './rtp-remote.ts';

/** What to record of a leg. */
export interface LegRecording {
  /** First number, to continue an earlier leg of the same call. */
  readonly firstSegment: number;
  /**
   * `human`: only the peer's audio, and only while the leg is bridged or relayed. Otherwise both sides, all
   * the time.
   */
  readonly of?: 'human';
}

/** Options of every leg. */
export interface LegOptions {
  /** Records if set. */
  readonly recording: LegRecording | null;
}

/**
 * An RTP leg: the socket is bound before the peer is known, so that an offer or answer can contain the port.
 */
export interface RtpLegOptions extends LegOptions {
  /** Address to bind and to send from. */
  readonly localAddress: string;
  /** Destination and format; null until the answer is known (then `setRemote`). */
  readonly remote: RtpRemote | null;
  /** Sends nothing before `continueStream`: another leg still sends to the peer. */
  readonly awaitsStream?: boolean;
  /** The peer was heard on an earlier leg of this call, so it may be silent now. */
  readonly wasHeard?: boolean;
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
  /** The participant who is the caller: source of voice and messages. */
  readonly callerIdentity: string;
  /**
   * True to wait for a caller who leaves the room: LiveKit's clients that cannot resume a connection leave
   * and join again. A broken connection is waited for in any case.
   */
  readonly mayRejoin: boolean;
}

/** A phone call over a vendor's media stream, joined at the control plane. */
export interface StreamLegOptions extends LegOptions {
  /** Where to join it (ws or wss). */
  readonly url: string;
  /** The workers' token. */
  readonly token: string;
  readonly vendor: StreamVendor;
}

/** What can be loaded before the first leg. */
export type Transport = Leg['kind'];

/** Opens legs on the media thread. */
export interface LegFactory {
  /**
   * Loads what the first leg of each transport would otherwise wait for: processes, native libraries, the
   * speech detector. Returns at once; a failure shows when a leg is opened. What web legs need replaces what
   * an earlier call asked for.
   */
  warmUp(transports: readonly Transport[]): void;
  /**
   * Whether the processes and libraries are loaded that `warmUp` was last called for, except for phone calls.
   * False before the first such call, while a dead process is being replaced, and if they cannot be loaded.
   * The speech detector may still be loading: levels decide until then.
   */
  readonly isWebReady: boolean;
  /** Throws `Fault('no_media_port')` if all RTP ports are in use. */
  openRtpLeg(options: RtpLegOptions): Promise<{ readonly leg: Leg; readonly localPort: number }>;
  /** Throws `Fault('sdp_unusable')` if the offer has no audio we support. */
  openWebrtcLeg(options: WebrtcLegOptions): Promise<{ readonly leg: Leg; readonly answerSdp: string }>;
  /** Joins a room. Throws `Fault('gateway_unreachable')` if that fails. */
  openLivekitLeg(options: LivekitLegOptions): Promise<{ readonly leg: Leg }>;
  /** Joins a vendor's media stream. Throws `Fault('gateway_unreachable')` if that fails. */
  openStreamLeg(options: StreamLegOptions): Promise<{ readonly leg: Leg }>;
  /**
   * Sends no audio after this monotonic time, ms, until called again; what the legs play waits. Without a
   * call there is no limit.
   */
  speakUntil(untilMs: number): void;
  /** Closes every leg and stops the thread. */
  close(): Promise<void>;
}

/** Options of the media thread. */
export interface MediaThreadSettings {
  readonly rtpPortMin: number;
  readonly rtpPortMax: number;
  readonly publicIp: string | null;
  readonly iceServers: readonly IceServer[];
}

/** A STUN or TURN server in WebRTC's format. */
export interface IceServer {
  readonly urls: string | string[];
  readonly username?: string | undefined;
  readonly credential?: string | undefined;
}
