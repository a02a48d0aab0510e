/**
 * `Signalling`: SIP as the worker sees it, over drachtio-srf, whichever server (embedded or drachtio-server) is behind it.
 * The only file that knows drachtio-srf; calls and dialogs leave it as the small interfaces below.
 */
import Srf from 'drachtio-srf';
import type { Logger } from '#config/log.ts';

/** An answered dialog, enough to take it over or to hang it up (RFC 3261 §12). */
export interface DialogFacts {
  readonly sipCallId: string;
  readonly localTag: string;
  readonly remoteTag: string;
  readonly routeSet: readonly string[];
  readonly localCseq: number;
  readonly remoteTarget: string;
  readonly localContact: string;
  readonly localSdp: string;
  readonly remoteSdp: string;
}

/** The caller gave up before the answer. */
export class InviteCancelled extends Error {}

/** A new INVITE that admission routed to this worker. */
export interface IncomingInvite {
  readonly sipCallId: string;
  /** Address the INVITE came from, as signalling saw it. */
  readonly sourceAddress: string;
  /** Null: the offer comes in the ACK (late offer). */
  readonly sdpOffer: string | null;
  /** 180 Ringing. */
  ring(): void;
  /** 200 with the answer; resolves once it is sent. Throws `InviteCancelled` when the caller was faster. */
  answer(sdp: string): Promise<SipDialog>;
  refuse(status: number, headers?: Readonly<Record<string, string>>): void;
  /** At most one listener; called at once when the caller has cancelled already. */
  onCancel(listener: () => void): void;
}

/** An answered call's dialog. */
export interface SipDialog {
  readonly facts: DialogFacts;
  /** Sets what is told of the other side's requests. */
  listen(listener: SipDialogListener): void;
  /** BYE. Idempotent; never rejects: the call is over whatever the answer is. */
  hangUp(): Promise<void>;
  /** REFER (RFC 3515): asks the other side to call somebody else instead of us. `listener` is told everything that follows; one REFER at a time. */
  refer(request: ReferRequest, listener: ReferListener): void;
}

/** Whom the other side is asked to call. */
export interface ReferRequest {
  /** Refer-To, a SIP URI. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly credentials: DialRequest['credentials'];
}

/** What becomes of a REFER, in any order the network likes. */
export interface ReferListener {
  /** Its final response; 0 when it could not be sent. */
  onResponse(status: number): void;
  /** A NOTIFY: the status its `message/sipfrag` begins with, null when it has none, and whether it is the last one. */
  onNotify(status: number | null, isLast: boolean): void;
  /** The dialog is over. */
  onEnded(): void;
}

/** What the other side asks for inside a dialog. */
export interface SipDialogListener {
  /** BYE, or the dialog was lost. */
  onEnded(): void;
  /** A re-INVITE with an offer: the answer, or null to refuse it with 488 and leave everything as it is. */
  onOffer(sdp: string): string | null;
  onInfo(info: { readonly contentType: string; readonly body: string }): void;
}

/** What is dialled. */
export interface DialRequest {
  /** `sip:<number>@<trunk>` */
  readonly toUri: string;
  /** User part of From and Contact. */
  readonly fromNumber: string;
  readonly sdpOffer: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Answers a digest challenge (RFC 3261 §22); null: a challenge is a refusal. */
  readonly credentials: { readonly username: string; readonly password: string } | null;
}

/** Thrown when the other side answers an INVITE of ours with anything but a 2xx. */
export class InviteRefused extends Error {
  /** SIP status. */
  readonly status: number;

  constructor(status: number) {
    super(`the INVITE was answered ${status}`);
    this.status = status;
  }
}

/** An INVITE of ours, on its way or ringing. */
export interface OutgoingInvite {
  /** The dialog once it is answered. Rejects with `InviteRefused`; with another error when the INVITE could not be sent. */
  readonly answered: Promise<SipDialog>;
  /** Sets what is told of session descriptions that come before the answer (early media). */
  onEarlyMedia(listener: (sdp: string) => void): void;
  /** Gives it up: CANCEL, or BYE when the answer has crossed it. `answered` settles as if nobody had. Idempotent. */
  cancel(): void;
}

/** The connection to the SIP server. */
export interface Signalling {
  /** Sends an INVITE. */
  dial(request: DialRequest): OutgoingInvite;
  /** Sets the one handler of new INVITEs. */
  onInvite(handler: (invite: IncomingInvite) => void): void;
  readonly isConnected: boolean;
  close(): void;
}

/** What signalling is connected with. */
export interface SignallingOptions {
  readonly host: string;
  readonly port: number;
  readonly secret: string;
  /** Admission routes this worker's calls by it; at most 32 letters, digits and `-_+@:`. */
  readonly tag: string;
  readonly logger: Logger;
}

/** Reconnects this fast at most; a worker without signalling takes no phone calls. */
const RECONNECT_MAX_MS = 1_000;

/** Connects, and keeps connecting; resolves once the first connection stands. */
export async function connectSignalling(options: SignallingOptions): Promise<Signalling> {
  const srf = new Srf(options.tag);
  const signalling = new DrachtioSignalling(srf);
  await new Promise<void>((resolve) => {
    srf.on('connect', (error: unknown) => {
      if (error) {
        options.logger.error({ err: error }, 'signalling refused the connection');
        return;
      }
      signalling.isConnected = true;
      options.logger.info('connected to signalling');
      resolve();
    });
    srf.on('error', (error: unknown) => {
      if (signalling.isConnected) options.logger.warn({ err: error }, 'signalling lost');
      signalling.isConnected = false;
    });
    srf.on('close' as 'disconnect', () => {
      if (signalling.isConnected) options.logger.warn('signalling lost');
      signalling.isConnected = false;
    });
    const { reconnect } = signalling;
    void srf.connect({ host: options.host, port: options.port, secret: options.secret, reconnect } as Parameters<Srf['connect']>[0]);
  });
  return signalling;
}

class DrachtioSignalling implements Signalling {
  isConnected = false;
  /** Read by drachtio-srf at every lost connection. */
  readonly reconnect: { readonly retryMaxDelay: number; maxAttempts?: number } = { retryMaxDelay: RECONNECT_MAX_MS };
  readonly #srf: Srf;
  #handler: ((invite: IncomingInvite) => void) | null = null;

  constructor(srf: Srf) {
    this.#srf = srf;
    srf.invite((request: Srf.SrfRequest, response: Srf.SrfResponse) => {
      // drachtio-srf sends the 200 before it finds out that there is no Contact to make a dialog of.
      if (!hasContact(request)) {
        response.send(400);
        return;
      }
      const invite = new DrachtioInvite(srf, request, response);
      if (this.#handler) this.#handler(invite);
      else invite.refuse(503);
    });
  }

  onInvite(handler: (invite: IncomingInvite) => void): void {
    this.#handler = handler;
  }

  dial(request: DialRequest): OutgoingInvite {
    // drachtio-srf would keep the INVITE for a connection that may come too late.
    if (!this.isConnected)
      return { answered: Promise.reject(new Error('not connected to signalling')), onEarlyMedia: () => undefined, cancel: () => undefined };
    return new DrachtioOutgoingInvite(this.#srf, request);
  }

  close(): void {
    this.reconnect.maxAttempts = 1;
    // Without a connection there is nothing to end, and drachtio-srf throws.
    if (this.isConnected) this.#srf.disconnect();
    this.isConnected = false;
  }
}

class DrachtioInvite implements IncomingInvite {
  readonly sipCallId: string;
  readonly sourceAddress: string;
  readonly sdpOffer: string | null;
  readonly #srf: Srf;
  readonly #request: Srf.SrfRequest;
  readonly #response: Srf.SrfResponse;
  #isCancelled = false;
  #onCancel: (() => void) | null = null;

  constructor(srf: Srf, request: Srf.SrfRequest, response: Srf.SrfResponse) {
    this.#srf = srf;
    this.#request = request;
    this.#response = response;
    this.sipCallId = request.get('Call-ID');
    this.sourceAddress = request.source_address;
    this.sdpOffer = request.body.trim() === '' ? null : request.body;
    request.on('cancel', () => {
      this.#isCancelled = true;
      this.#onCancel?.();
    });
  }

  ring(): void {
    if (!this.#isCancelled) this.#response.send(180);
  }

  async answer(sdp: string): Promise<SipDialog> {
    if (this.#isCancelled) throw new InviteCancelled();
    return new Promise((resolve, reject) => {
      // By callback: the ACK, a BYE or a re-INVITE may stand right behind in the same read, before any promise would have settled.
      this.#srf.createUAS(this.#request, this.#response, { localSdp: sdp }, (error: unknown, dialog) => {
        if (!error) resolve(new DrachtioDialog(dialog));
        else if (this.#isCancelled || (error instanceof Error && 'status' in error && error.status === 487)) reject(new InviteCancelled());
        else reject(error instanceof Error ? error : new Error(String(error)));
      });
    });
  }

  refuse(status: number, headers: Readonly<Record<string, string>> = {}): void {
    if (!this.#isCancelled) this.#response.send(status, { headers });
  }

  onCancel(listener: () => void): void {
    this.#onCancel = listener;
    if (this.#isCancelled) listener();
  }
}

class DrachtioOutgoingInvite implements OutgoingInvite {
  readonly answered: Promise<SipDialog>;
  #request: Srf.SrfRequest | null = null;
  #isCancelled = false;
  #onEarlyMedia: ((sdp: string) => void) | null = null;

  constructor(srf: Srf, { toUri, fromNumber, sdpOffer, headers, credentials }: DialRequest) {
    // The server writes its own address for localhost. In lower case, as drachtio-srf takes them out again to answer a challenge.
    const own = `<sip:${fromNumber}@localhost>`;
    const options = { localSdp: sdpOffer, headers: { ...headers, from: own, contact: own }, ...(credentials ? { auth: { ...credentials } } : {}) };
    const onSent = (error: unknown, request: Srf.SrfRequest) => {
      if (!error) this.#sent(request);
    };
    const progress = {
      cbRequest: onSent as unknown as (request: Srf.SrfRequest) => void,
      cbProvisional: (response: Srf.SrfResponse) => {
        const { body } = response as unknown as { readonly body: string };
        if (body.trim() !== '') this.#onEarlyMedia?.(body);
      },
    };
    this.answered = new Promise((resolve, reject) => {
      // By callback, for the same reason as an answer of ours.
      srf.createUAC(toUri, options, progress, (error: unknown, dialog) => {
        if (error) reject(asRefusal(error));
        else if (this.#isCancelled) {
          void new DrachtioDialog(dialog).hangUp();
          reject(new InviteRefused(487));
        } else resolve(new DrachtioDialog(dialog));
      });
    });
    // Whoever gave it up does not wait for the end.
    this.answered.catch(() => undefined);
  }

  onEarlyMedia(listener: (sdp: string) => void): void {
    this.#onEarlyMedia = listener;
  }

  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#request?.cancel(() => undefined);
  }

  #sent(request: Srf.SrfRequest): void {
    this.#request = request;
    if (this.#isCancelled) request.cancel(() => undefined);
  }
}

function asRefusal(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  return 'status' in error && typeof error.status === 'number' ? new InviteRefused(error.status) : error;
}

class DrachtioDialog implements SipDialog {
  readonly facts: DialogFacts;
  readonly #dialog: Srf.Dialog;
  #listener: SipDialogListener | null = null;
  #referListener: ReferListener | null = null;
  #isOver = false;

  constructor(dialog: Srf.Dialog) {
    this.#dialog = dialog;
    this.facts = factsOf(dialog);
    dialog.on('destroy', () => this.#end());
    dialog.on('info', (request, response) => {
      response.send(200);
      this.#listener?.onInfo({ contentType: request.get('Content-Type') ?? '', body: request.body });
    });
    dialog.on('notify', (request, response) => {
      response.send(200);
      this.#referListener?.onNotify(sipfragStatus(request.body), /^\s*terminated\b/i.test(request.get('Subscription-State') ?? ''));
    });
    dialog.on('modify', (request, response) => {
      const answer = request.body.trim() === '' ? dialog.local.sdp : (this.#listener?.onOffer(request.body) ?? null);
      if (answer === null) response.send(488);
      else response.send(200, { body: answer });
    });
  }

  listen(listener: SipDialogListener): void {
    this.#listener = listener;
    if (this.#isOver) listener.onEnded();
  }

  async hangUp(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    try {
      await this.#dialog.destroy();
    } catch {
      // The other side, or the server, has forgotten the dialog: it is over either way.
    }
  }

  refer(request: ReferRequest, listener: ReferListener): void {
    this.#referListener = listener;
    if (this.#isOver) {
      listener.onEnded();
      return;
    }
    const { target, headers, credentials } = request;
    this.#dialog
      .request({
        method: 'REFER',
        headers: { ...headers, 'Refer-To': `<${target}>`, 'Referred-By': `<${this.facts.localContact}>` },
        ...(credentials ? { auth: { ...credentials } } : {}),
      } as unknown as Srf.SrfRequest)
      .then(
        (response) => listener.onResponse(response.status),
        () => listener.onResponse(0),
      );
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#referListener?.onEnded();
    this.#listener?.onEnded();
  }
}

/** The status line of a `message/sipfrag` body (RFC 3420). */
function sipfragStatus(body: string): number | null {
  const status = /^\s*SIP\/2\.0 (\d{3})\b/.exec(body)?.[1];
  return status === undefined ? null : Number(status);
}

function hasContact(request: Srf.SrfRequest): boolean {
  try {
    return /^sips?:\S/i.test(request.getParsedHeader('contact')[0]?.uri ?? '');
  } catch {
    return false;
  }
}

function factsOf(dialog: Srf.Dialog): DialogFacts {
  const isOurs = dialog.type === 'uac';
  const { res } = dialog as unknown as { readonly res: Srf.SrfResponse };
  const recordRoute = (isOurs ? res : dialog.req).get('Record-Route') as string | undefined;
  const routes = recordRoute === undefined ? [] : recordRoute.split(/,(?=\s*<)/).map((route) => route.trim());
  return {
    sipCallId: dialog.sip.callId,
    localTag: dialog.sip.localTag,
    remoteTag: dialog.sip.remoteTag,
    // Seen from the other end when the call is ours (RFC 3261 §12.1.2).
    routeSet: isOurs ? routes.reverse() : routes,
    localCseq: isOurs ? Number.parseInt(dialog.req.get('CSeq'), 10) : 0,
    remoteTarget: dialog.remote.uri,
    localContact: dialog.local.uri,
    localSdp: dialog.local.sdp,
    remoteSdp: dialog.remote.sdp,
  };
}
