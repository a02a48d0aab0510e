/**
 * `Leg`: one media path of a call (RTP or a vendor's media stream of a phone, WebRTC of a browser, a LiveKit
 * participant), as seen by the call loop. The transport runs on the media thread, so the interface is made of
 * messages: commands go down and events come up in batches, and no call is synchronous. Every transport
 * implements it; the layers above do not know which one is in use.
 */

import type { VoiceEvent } from '../voice-activity/speech-tracker.ts';
import type { RtpRemote } from './rtp-remote.ts';

/** Commands to a leg, executed in order. */
export type LegCommand =
  /**
   * Appends a piece of a reply to the playout queue. `samples` are mono 16-bit at the leg's `outRateHz`.
   * `marks` are ascending sample offsets within the piece; each is reported once the sample before it has
   * been sent (word ends). `last` marks the last piece of the reply; an empty piece may close a reply.
   */
  | {
      readonly do: 'play';
      readonly replyId: string;
      readonly pieceId: number;
      readonly samples: Int16Array;
      readonly marks: Int32Array;
      readonly last: boolean;
    }
  /** Stops sending reply audio at the next frame and keeps the queue; silence is sent meanwhile. */
  | { readonly do: 'pause' }
  /** Continues at the paused sample. */
  | { readonly do: 'resume' }
  /** Clears the queue and ends a pause, then reports in `playout.cleared` what had been sent. */
  | { readonly do: 'clear' }
  /**
   * Sends key presses and pauses (config/telephone-keys.ts) in place of what the leg plays: RFC 4733
   * telephone events, or tones if the peer does not support them (phone legs). `digits.sent` follows with the
   * same `pressId`, if there is one.
   */
  | { readonly do: 'sendDigits'; readonly digits: string; readonly pressId?: string }
  /** Sends none of the keys that wait; no `digits.sent` follows. */
  | { readonly do: 'dropDigits' }
  /** Sends one JSON message on the reliable data channel (web legs; ignored on phone legs). */
  | { readonly do: 'sendMessage'; readonly json: string }
  /**
   * Duration of voiced audio within one utterance, ms, at which `voice.reached` is reported; 0 disables it.
   * `unsureReachMs` applies instead to speech that begins while our own audio may come back as an echo that
   * has not been measured yet.
   */
  | { readonly do: 'watchVoice'; readonly reachMs: number; readonly unsureReachMs?: number }
  /** Changes the destination and format of an RTP leg (outbound answer, re-INVITE). */
  | {
      readonly do: 'setRemote';
      readonly remote: RtpRemote;
      /** Before the answer (early media): received, never recorded. */
      readonly isEarly?: boolean;
    }
  /**
   * Plays one slot of another leg's audio in addition to the replies; several sources are mixed. At most one
   * frame.
   */
  | { readonly do: 'mix'; readonly source: string; readonly rateHz: number; readonly samples: Int16Array }
  /** Reports both sides of every slot (`relayed`), for other legs. */
  | { readonly do: 'relay'; readonly isOn: boolean }
  /**
   * Bridges two legs of phones of one host until one closes, in addition to what each of them plays; null
   * separates them.
   */
  | { readonly do: 'bridge'; readonly otherLegId: string | null }
  /**
   * Gives the stream of an RTP leg up: `stream.released` follows at once, and names the first packet, due in
   * a moment, that is not sent any more. `closed` follows when the one before it has been sent, or at once
   * if there is no stream to give up.
   */
  | { readonly do: 'releaseStream' }
  /**
   * Goes on with the stream of another leg, or begins one of its own with null. Ends the wait of
   * `awaitsStream`.
   */
  | { readonly do: 'continueStream'; readonly rest: RestOfSent | null }
  /** Plays music on hold (legs of phones). */
  | { readonly do: 'holdMusic'; readonly isOn: boolean }
  /**
   * Closes the transport; `closed` follows with reason `local`. `keepsDialog`: another worker has taken the
   * call, so a phone's dialog gets no BYE; media is sent for `lingerMs` more, in a room at most until the
   * other worker has joined it.
   */
  | { readonly do: 'close'; readonly keepsDialog?: true; readonly lingerMs?: number };

/**
 * The rest of a sent RTP stream (RFC 3550 §5.1): the numbers of its first packet that another leg sends, and
 * when that is due.
 */
export interface RestOfSent {
  readonly ssrc: number;
  /** Canonical name in the RTCP reports of its source (RFC 3550 §6.5.1). */
  readonly cname: string;
  readonly sequence: number;
  readonly timestamp: number;
  /** Of the timestamps, Hz. */
  readonly clockHz: number;
  /** Packets and bytes of payload sent before. */
  readonly packets: number;
  readonly bytes: number;
  /** Monotonic time, ms. */
  readonly dueMs: number;
}

/** Position up to which a reply was sent: piece, and sample within it. */
export interface PlayoutPosition {
  readonly replyId: string;
  readonly pieceId: number;
  readonly sample: number;
}

/** Events of a leg, in order. `atMs` is the monotonic time of the event itself, not of its report. */
export type LegEvent =
  /** The peer is reachable: first media received, or ICE connected. */
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
  /** Both sides of one slot while relaying: received audio at `inRateHz`, sent audio at `outRateHz`. */
  | { readonly type: 'relayed'; readonly voice: Int16Array; readonly sent: Int16Array }
  | VoiceEvent
  | { readonly type: 'playout.started'; readonly atMs: number; readonly replyId: string }
  | {
      readonly type: 'playout.mark';
      readonly atMs: number;
      readonly replyId: string;
      readonly pieceId: number;
      readonly mark: number;
    }
  | { readonly type: 'playout.paused'; readonly atMs: number; readonly position: PlayoutPosition }
  /** The queue ran empty before the last piece of the reply; sending continues when more arrives. */
  | { readonly type: 'playout.starved'; readonly atMs: number; readonly replyId: string }
  /** The last sample of the reply's last piece was sent. */
  | { readonly type: 'playout.finished'; readonly atMs: number; readonly replyId: string }
  /** Answer to `clear`: what had been sent of the current reply, or null if nothing was queued. */
  | { readonly type: 'playout.cleared'; readonly atMs: number; readonly position: PlayoutPosition | null }
  | {
      readonly type: 'digit';
      readonly atMs: number;
      readonly digit: string;
      readonly durationMs: number;
      readonly source: 'rfc4733' | 'info' | 'inband' | 'stream';
    }
  /** Answer to `sendDigits`: the last key has been sent, and the pause after it has passed. */
  | { readonly type: 'digits.sent'; readonly atMs: number; readonly pressId: string }
  /** Answer to `releaseStream`; null if the leg sends nothing, or sends it encrypted. */
  | { readonly type: 'stream.released'; readonly atMs: number; readonly rest: RestOfSent | null }
  /** A text message from the data channel (web legs), unparsed. */
  | { readonly type: 'message'; readonly atMs: number; readonly text: string }
  /**
   * Five seconds of one recorded track, or the rest at the end, aligned to the call's clock: `startMs` is the
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
  /** How the media is doing: sent when a peer becomes unheard, for another reason, or is heard at last. */
  | { readonly type: 'media'; readonly atMs: number; readonly stats: LegStats }
  /** The peer is out of reach and may come back; what the leg plays waits. `back` or `closed` follows. */
  | { readonly type: 'away'; readonly atMs: number }
  | { readonly type: 'back'; readonly atMs: number }
  /** Always the last event. */
  | {
      readonly type: 'closed';
      readonly atMs: number;
      readonly reason: LegCloseReason;
      readonly stats: LegStats;
    };

/** Why a leg closed. `remote`: the peer hung up or left; `media_timeout`: no media for too long. */
export type LegCloseReason = 'local' | 'remote' | 'media_timeout' | 'failed';

/** Side of a recorded track; `human` is the person who joined by a transfer. */
export type RecordingTrack = 'user' | 'agent' | 'human';

/** Counters of a leg over its life. */
export interface LegStats {
  readonly packetsReceived: number;
  readonly packetsLost: number;
  readonly packetsSent: number;
  /** RFC 3550 §6.4.1 interarrival jitter, ms; 0 if the transport does not report it. */
  readonly jitterMs: number;
  /** From RTCP reports, ms; null or absent if the peer sends none. */
  readonly roundTripMs?: number | null;
  /** Final delay of the jitter buffer, ms; absent if the transport does not report it. */
  readonly jitterBufferMs?: number;
  /**
   * Share of the caller's audio that is concealment of lost or late packets, 0 to 1; absent if the transport
   * does not report it.
   */
  readonly concealedShare?: number;
  /**
   * Estimated call quality, 1 to 4.4 (E-model); null or absent if nothing was received or the transport does
   * not report it.
   */
  readonly mos?: number | null;
  /** Set if the peer should have sent audio and no packet of it was accepted for 3 s or more. */
  readonly unheard?: UnheardPeer;
}

/** A peer that should have sent audio, and from which nothing is heard. */
export interface UnheardPeer {
  /** The negotiated address; null if it is that of the operator's media relay. */
  readonly expectedAddress: string | null;
  /** Sources of the packets that were refused. */
  readonly refusedAddresses: readonly string[];
  /** Packets that could not be decrypted or parsed, or have a payload type that was not negotiated. */
  readonly unreadablePackets: number;
}

/** A media path, as the call loop holds it. */
export interface Leg {
  readonly id: string;
  readonly kind: 'rtp' | 'stream' | 'webrtc' | 'livekit';
  /** Sample rate of caller audio, Hz. */
  readonly inRateHz: number;
  /** Sample rate of `play`, Hz. */
  readonly outRateHz: number;
  /** Monotonic time of slot 0, ms. */
  readonly originMs: number;
  send(command: LegCommand): void;
  /** Sets the only listener, and delivers earlier events to it first. */
  listen(listener: (events: readonly LegEvent[]) => void): void;
}
