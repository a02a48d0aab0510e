/**
 * `Leg`: one media path of a call (a SIP caller's RTP, a browser's WebRTC connection, a LiveKit participant),
 * seen from the call loop. It is message-shaped because its transport lives on the media thread: commands go
 * down and events come up in batches, and no call crosses synchronously. Every transport implements it;
 * nothing above it knows which one is in use.
 */

import type { SrtpKeys } from '../rtp/srtp.ts';

/** Length of one frame and of one slot of the call's clock, in ms. */
export const FRAME_MS = 20;

/**
 * What a slot's frame is: received audio, audio made up for a lost packet, a sender's silence (DTX, comfort
 * noise), or nothing at all.
 */
export type FrameKind = 'audio' | 'concealed' | 'silent' | 'absent';

/** `FrameKind` as it travels between the threads: the index in this list. */
export const FRAME_KINDS = ['audio', 'concealed', 'silent', 'absent'] as const satisfies readonly FrameKind[];

/** Told to a leg, in order. */
export type LegCommand =
  /**
   * Appends one piece of a reply to the playout queue. `samples` are mono 16-bit at the leg's `outRateHz`.
   * `marks` are sample offsets within the piece, ascending; each is reported once the sample before it has
   * been sent (word ends). `last` says that no further piece of the reply follows; a reply may be closed by
   * an empty last piece.
   */
  | {
      readonly do: 'play';
      readonly replyId: string;
      readonly pieceId: number;
      readonly samples: Int16Array;
      readonly marks: Int32Array;
      readonly last: boolean;
    }
  /** Stops sending reply audio at the next frame and keeps the queue; silence goes out meanwhile. */
  | { readonly do: 'pause' }
  /** Goes on from the paused sample. */
  | { readonly do: 'resume' }
  /**
   * Drops everything queued (also while paused; ends the pause) and reports `playout.cleared` with what had
   * been sent.
   */
  | { readonly do: 'clear' }
  /** Sends key presses: RFC 4733 telephone events, or tones where the peer takes none (phone legs). */
  | { readonly do: 'sendDigits'; readonly digits: string }
  /** Sends one JSON message on the reliable data channel (web legs; ignored on phone legs). */
  | { readonly do: 'sendMessage'; readonly json: string }
  /**
   * Duration of voiced audio within one speech, in ms, at which `voice.reached` is reported; 0 turns it off.
   * `unsureReachMs` takes its place for speech that begins while our own sound may come back and nothing is
   * known of that echo yet.
   */
  | { readonly do: 'watchVoice'; readonly reachMs: number; readonly unsureReachMs?: number }
  /** Changes where an RTP leg sends to and how (outbound answer, re-INVITE). */
  | {
      readonly do: 'setRemote';
      readonly remote: RtpRemote /** Before the answer (early media): heard, never recorded. */;
      readonly isEarly?: boolean;
    }
  /**
   * Plays one slot of another leg's audio beside the replies; what comes from different sources is mixed. At
   * most one frame long.
   */
  | { readonly do: 'mix'; readonly source: string; readonly rateHz: number; readonly samples: Int16Array }
  /** Tells, slot by slot, what the far end says and what it is sent (`relayed`), for others to hear. */
  | { readonly do: 'relay'; readonly isOn: boolean }
  /**
   * Lets the far ends of two RTP legs of one host hear each other, beside what either is played, until one
   * closes; null parts them.
   */
  | { readonly do: 'bridge'; readonly otherLegId: string | null }
  /** Plays music to a far end that waits (RTP legs). */
  | { readonly do: 'holdMusic'; readonly isOn: boolean }
  /** Closes the transport; `closed` follows with reason `local`. */
  | { readonly do: 'close' };

/** The far end of an RTP stream, as negotiated (RFC 3264). */
export interface RtpRemote {
  readonly address: string;
  readonly port: number;
  readonly codec: RtpCodec;
  /** Payload type of `codec` in both directions. */
  readonly payloadType: number;
  /** Payload type of telephone-event (RFC 4733), or null when it was not negotiated. */
  readonly digitPayloadType: number | null;
  /** Clock its durations count in, Hz; 8000 when absent. */
  readonly digitClockHz?: number;
  /** Reports share the media's port (RFC 5761); otherwise they have the one above. */
  readonly isRtcpMuxed?: boolean;
  /** Both streams are protected (SRTP); absent when they are plain. */
  readonly srtp?: SrtpKeys;
  /** Nothing is sent there before something was heard from there. */
  readonly isHeardFirst?: boolean;
  /** False while the far end put us on hold (sendonly/inactive). */
  readonly sending: boolean;
}

/** Codecs an RTP leg can carry. */
export type RtpCodec = 'PCMU' | 'PCMA' | 'G722' | 'opus';

/** How much of a reply has left for the wire: piece and sample within it. */
export interface PlayoutPosition {
  readonly replyId: string;
  readonly pieceId: number;
  readonly sample: number;
}

/**
 * Reported by a leg, in order. `atMs` is the clock's monotonic time of the fact itself, not of its report.
 */
export type LegEvent =
  /** The far end is reachable: first media or ICE connected. */
  | { readonly type: 'connected'; readonly atMs: number }
  /**
   * Caller audio: `kinds.length` consecutive frames starting at `slot` (slot n begins at the leg's origin + n
   * × 20 ms).
   */
  | {
      readonly type: 'audio';
      readonly slot: number;
      readonly atMs: number;
      readonly kinds: Uint8Array;
      readonly samples: Int16Array;
    }
  /**
   * One slot of both sides while they are relayed: the far end's at `inRateHz`, what it was sent at
   * `outRateHz`.
   */
  | { readonly type: 'relayed'; readonly voice: Int16Array; readonly sent: Int16Array }
  /** Speech began: `atMs` is the start of the first voiced window, `decidedAtMs` when that was certain. */
  | { readonly type: 'voice.onset'; readonly atMs: number; readonly decidedAtMs: number }
  /** The running speech has `voicedMs` of voiced audio (the `watchVoice` threshold). */
  | { readonly type: 'voice.reached'; readonly atMs: number; readonly voicedMs: number }
  /** Speech ended: `atMs` is the end of the last voiced window. */
  | {
      readonly type: 'voice.offset';
      readonly atMs: number;
      readonly decidedAtMs: number;
      readonly voicedMs: number;
    }
  | { readonly type: 'playout.started'; readonly atMs: number; readonly replyId: string }
  | {
      readonly type: 'playout.mark';
      readonly atMs: number;
      readonly replyId: string;
      readonly pieceId: number;
      readonly mark: number;
    }
  | { readonly type: 'playout.paused'; readonly atMs: number; readonly position: PlayoutPosition }
  /** The queue ran empty before the reply's last piece came; sending goes on by itself when more arrives. */
  | { readonly type: 'playout.starved'; readonly atMs: number; readonly replyId: string }
  /** The last sample of the reply's last piece has been sent. */
  | { readonly type: 'playout.finished'; readonly atMs: number; readonly replyId: string }
  /** Answer to `clear`: what had been sent of the reply in progress, or null when nothing was queued. */
  | { readonly type: 'playout.cleared'; readonly atMs: number; readonly position: PlayoutPosition | null }
  | {
      readonly type: 'digit';
      readonly atMs: number;
      readonly digit: string;
      readonly durationMs: number;
      readonly source: 'rfc4733' | 'info' | 'inband';
    }
  /** One text message from the data channel (web legs), unparsed. */
  | { readonly type: 'message'; readonly atMs: number; readonly text: string }
  /**
   * Five seconds (or the rest at the end) of one recorded track, aligned to the call's clock: `startMs` is
   * monotonic time of its first sample.
   */
  | {
      readonly type: 'recording';
      readonly track: RecordingTrack;
      readonly segment: number;
      readonly startMs: number;
      readonly rateHz: number;
      readonly samples: Int16Array;
    }
  /** Always the last event of a leg. */
  | {
      readonly type: 'closed';
      readonly atMs: number;
      readonly reason: LegCloseReason;
      readonly stats: LegStats;
    };

/** Why a leg closed. `remote`: the far end hung up or left; `media_timeout`: nothing arrived for too long. */
export type LegCloseReason = 'local' | 'remote' | 'media_timeout' | 'failed';

/** Which side a recorded track holds; `human` is the person joined by a transfer. */
export type RecordingTrack = 'user' | 'agent' | 'human';

/** What a leg counted over its life. */
export interface LegStats {
  readonly packetsReceived: number;
  readonly packetsLost: number;
  readonly packetsSent: number;
  /** RFC 3550 §6.4.1 interarrival jitter in ms; 0 where the transport does not tell. */
  readonly jitterMs: number;
  /** From RTCP reports, ms; null or absent where the far end sends none. */
  readonly roundTripMs?: number | null;
  /** Delay of the jitter buffer at the end, ms; absent where the transport does not tell. */
  readonly jitterBufferMs?: number;
  /**
   * Share of the caller's audio that was made up for what was lost or late, 0 to 1; absent where the
   * transport does not tell.
   */
  readonly concealedShare?: number;
  /**
   * Estimate of how the call sounded, 1 to 4.4 (E-model); null or absent where nothing was received or the
   * transport does not tell.
   */
  readonly mos?: number | null;
}

/** One media path as the call loop holds it. */
export interface Leg {
  readonly id: string;
  readonly kind: 'rtp' | 'webrtc' | 'livekit';
  /** Sample rate of caller audio, Hz. */
  readonly inRateHz: number;
  /** Sample rate expected by `play`, Hz. */
  readonly outRateHz: number;
  /** Monotonic time of slot 0, ms. */
  readonly originMs: number;
  send(command: LegCommand): void;
  /** Sets the one listener; events that came before it was set are delivered first. */
  listen(listener: (events: readonly LegEvent[]) => void): void;
}
