/**
 * `Signalling`: SIP as a worker sees it. The adapter to drachtio-srf (`drachtio/`) implements it; calls and
 * dialogs use only the interfaces below.
 */

/** What failover needs to continue an answered dialog, or to hang it up (RFC 3261 §12). */
export interface DialogFacts {
  readonly sipCallId: string;
  readonly localTag: string;
  readonly remoteTag: string;
  /** Our From and the peer's To, with their tags. */
  readonly localParty: string;
  readonly remoteParty: string;
  readonly routeSet: readonly string[];
  /** CSeq of the last INVITE sent from this side; 0 if there was none (RFC 3261 §12.1.1: empty). */
  readonly localCseq: number;
  readonly remoteTarget: string;
  readonly localContact: string;
  readonly localSdp: string;
  readonly remoteSdp: string;
  /** Name of the SIP server that has the dialog; absent if unknown. */
  readonly server?: string | undefined;
}

/** The caller hung up before the answer. */
export class InviteCancelled extends Error {}

/** A new INVITE that admission routed to this worker. */
export interface IncomingInvite {
  readonly sipCallId: string;
  /** Source address of the INVITE, as signalling saw it. */
  readonly sourceAddress: string;
  /** Null for a late offer, which arrives in the ACK. */
  readonly sdpOffer: string | null;
  /** Whether the INVITE arrived over TLS. */
  readonly isOverTls: boolean;
  /** Sends 180 Ringing. Throws `Fault` if the call cannot be taken. */
  ring(): void;
  /**
   * Sends 200 with the answer, or with our offer if the INVITE had none; resolves once it is sent. Throws
   * `InviteCancelled` if the caller cancelled first.
   */
  answer(sdp: string): Promise<SipDialog>;
  refuse(status: number, headers?: Readonly<Record<string, string>>): void;
  /** Sets the only listener; called at once if the caller has already cancelled. */
  onCancel(listener: () => void): void;
}

/** A REGISTER of a phone. */
export interface IncomingRegister {
  readonly uri: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly sourceAddress: string;
  /** Where the answer goes. */
  readonly sourcePort: number;
  readonly transport: string;
  /** Name of the SIP server that received it. */
  readonly server: string;
}

/** Its final response; several headers of one name are several lines. */
export interface RegisterReply {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}

/** Answers a REGISTER; never rejects. */
export type AnswerRegister = (register: IncomingRegister) => Promise<RegisterReply>;

/** The dialog of an answered call. */
export interface SipDialog {
  readonly facts: DialogFacts;
  /** Sets the listener for requests of the peer. */
  listen(listener: SipDialogListener): void;
  /** Sends BYE. Idempotent; never rejects, since the call is over whatever the answer is. */
  hangUp(): Promise<void>;
  /**
   * Leaves the dialog to the worker that has taken it: sends no request any more. `silent` resolves when no
   * media is sent any more either. Idempotent.
   */
  leave(silent: Promise<void>): void;
  /**
   * Sends REFER (RFC 3515): asks the peer to call another address instead. `listener` receives the outcome.
   * One REFER at a time.
   */
  refer(request: ReferRequest, listener: ReferListener): void;
  /** The peer says that it takes INFO (RFC 3261 §20.5: Allow). */
  readonly takesInfo: boolean;
  /** Sends INFO (RFC 6086). Resolves with the status of the answer; 0 if it could not be sent. */
  sendInfo(contentType: string, body: string): Promise<number>;
}

/** The target of a REFER. */
export interface ReferRequest {
  /** Refer-To: a SIP URI. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly credentials: DialRequest['credentials'];
}

/** Outcome of a REFER. The network may reorder the calls. */
export interface ReferListener {
  /** The final response; 0 if the REFER could not be sent. */
  onResponse(status: number): void;
  /**
   * A NOTIFY. `status` is the status in its `message/sipfrag` body, null without one; `isLast` ends the
   * subscription.
   */
  onNotify(status: number | null, isLast: boolean): void;
  /** The dialog has ended. */
  onEnded(): void;
}

/** A session description, or null to refuse. A promise that rejects counts as null. */
export type SdpReply = string | null | Promise<string | null>;

/** Requests of the peer inside a dialog. */
export interface SipDialogListener {
  /** BYE was received, or the dialog was lost. */
  onEnded(): void;
  /** Answers the offer of a re-INVITE or UPDATE; null refuses it with 488 and changes nothing. */
  onOffer(sdp: string): SdpReply;
  /**
   * Makes an offer for a re-INVITE that has none; the answer follows in `onAnswer` (RFC 3261 §14.2). Null
   * refuses.
   */
  makeOffer(): SdpReply;
  /** The ACK to a 200 that carried our offer; `sdp` is empty if the ACK had no answer. */
  onAnswer(sdp: string): void;
  onInfo(info: { readonly contentType: string; readonly body: string }): void;
  /** A SIP server has taken the dialog over from a lost one: its facts have changed. */
  onMoved?(): void;
}

/** Our account at a PBX, under which a call goes out, or the number at a domain that the carrier knows. */
export interface DialLine {
  /** From is `fromUser@fromHost`. */
  readonly fromUser: string;
  readonly fromHost: string;
  /** `host:port` of our Contact; null: signalling's own. */
  readonly contactPlace: string | null;
  /** SIP URI to send to instead of `toUri`; null: none. */
  readonly nextHop: string | null;
  /** Route headers. */
  readonly routes: readonly string[];
  /** Name of the SIP server to call through, if that is connected; null: any. */
  readonly server: string | null;
}

/** An outbound INVITE. */
export interface DialRequest {
  /** `sip:<number>@<trunk>` */
  readonly toUri: string;
  /** URI of the server to send to; by default `toUri` decides. */
  readonly nextHop?: string | null;
  /** User part of From and Contact. */
  readonly fromNumber: string;
  readonly sdpOffer: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent: From is our own address. */
  readonly line?: DialLine | undefined;
  /** Credentials for a digest challenge (RFC 3261 §22); with null a challenge is a refusal. */
  readonly credentials: { readonly username: string; readonly password: string } | null;
}

/** Thrown when our INVITE gets a final response other than 2xx. */
export class InviteRefused extends Error {
  /** SIP status. */
  readonly status: number;

  constructor(status: number) {
    super(`the INVITE was answered ${status}`);
    this.status = status;
  }
}

/** Thrown when the peer no longer knows the dialog. */
export class DialogGone extends Error {}

/** An outbound INVITE without a final response yet. */
export interface OutgoingInvite {
  /**
   * Resolves with the dialog once it is answered. Rejects with `InviteRefused`, or with another error if the
   * INVITE could not be sent.
   */
  readonly answered: Promise<SipDialog>;
  /** Sets the listener for session descriptions received before the answer (early media). */
  onEarlyMedia(listener: (sdp: string) => void): void;
  /**
   * Sends CANCEL, or BYE if the answer crossed it. `answered` settles as it would have without it.
   * Idempotent.
   */
  cancel(): void;
}

/** A request outside any call. `@localhost` in From and Contact stands for the address of the SIP server. */
export interface PlainRequest {
  readonly method: 'REGISTER' | 'OPTIONS';
  readonly uri: string;
  readonly nextHop: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Name of the SIP server to send it through, if that is connected; null: any. */
  readonly server: string | null;
}

/** Its final response. */
export interface PlainResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly sourceAddress: string;
  /** The Contact of the request as it was sent; null if it had none. */
  readonly contact: string | null;
  /** Name of the SIP server that sent it. */
  readonly server: string;
}

/** The connections to the SIP servers. */
export interface Signalling {
  /**
   * Sends a request outside any call and resolves with its final response, whatever its status: 408 or 503 if
   * there was no answer. Rejects if it could not be sent.
   */
  request(request: PlainRequest): Promise<PlainResponse>;
  /** Sends an INVITE. */
  dial(request: DialRequest): OutgoingInvite;
  /**
   * Continues an answered dialog of a dead worker: a re-INVITE with this worker's media (RFC 3261 §14.1),
   * through the server that has the dialog if it is connected.
   * Rejects with `DialogGone` if the peer has left; on any other error the dialog is hung up.
   */
  failOver(facts: DialogFacts, sdpOffer: string): Promise<SipDialog>;
  /** Sets the only handler of new INVITEs. */
  onInvite(handler: (invite: IncomingInvite) => void): void;
  /** Sets the only handler of phones that register; without one they are refused. */
  onRegister(handler: AnswerRegister): void;
  /** True while at least one server is connected. */
  readonly isConnected: boolean;
  /** Names of the connected servers, `host:port` as in the settings. */
  readonly servers: readonly string[];
  close(): void;
}
