/**
 * `Signalling`: SIP as the worker sees it, over drachtio-srf, whichever server (embedded or drachtio-server)
 * is behind it. The only file that knows drachtio-srf; calls and dialogs leave it as the small interfaces
 * below.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import Srf from 'drachtio-srf';
import type { Logger } from '#base/log.ts';
import { ALLOW } from './methods.ts';

/** An answered dialog, enough to take it over or to hang it up (RFC 3261 §12). */
export interface DialogFacts {
  readonly sipCallId: string;
  readonly localTag: string;
  readonly remoteTag: string;
  /** From and To as this side writes them, with their tags. */
  readonly localParty: string;
  readonly remoteParty: string;
  readonly routeSet: readonly string[];
  /** CSeq of the last INVITE this side sent; 0 when it has sent none (RFC 3261 §12.1.1: empty). */
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
  /** It came over TLS. */
  readonly isOverTls: boolean;
  /** 180 Ringing. Throws `Fault` where the call cannot be taken. */
  ring(): void;
  /**
   * 200 with the answer, or with our offer where there is none to answer; resolves once it is sent. Throws
   * `InviteCancelled` when the caller was faster.
   */
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
  /**
   * REFER (RFC 3515): asks the other side to call somebody else instead of us. `listener` is told everything
   * that follows; one REFER at a time.
   */
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
  /**
   * A NOTIFY: the status its `message/sipfrag` begins with, null when it has none, and whether it is the last
   * one.
   */
  onNotify(status: number | null, isLast: boolean): void;
  /** The dialog is over. */
  onEnded(): void;
}

/** A session description, null for none; one that has to be waited for and does not come is none. */
export type Described = string | null | Promise<string | null>;

/** What the other side asks for inside a dialog. */
export interface SipDialogListener {
  /** BYE, or the dialog was lost. */
  onEnded(): void;
  /**
   * A re-INVITE or UPDATE with an offer: the answer, or null to refuse it with 488 and leave everything as it
   * is.
   */
  onOffer(sdp: string): Described;
  /** A re-INVITE without an offer: ours, whose answer follows (RFC 3261 §14.2); null to refuse it. */
  makeOffer(): Described;
  /** What the ACK brought to an offer of ours in a 200; empty when it brought nothing. */
  onAnswer(sdp: string): void;
  onInfo(info: { readonly contentType: string; readonly body: string }): void;
}

/** What is dialled. */
export interface DialRequest {
  /** `sip:<number>@<trunk>` */
  readonly toUri: string;
  /** URI of the server it is sent to; without one it goes where `toUri` says. */
  readonly nextHop?: string | null;
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

/** Thrown where a dialog is not known to the other side any more. */
export class DialogGone extends Error {}

/** An INVITE of ours, on its way or ringing. */
export interface OutgoingInvite {
  /**
   * The dialog once it is answered. Rejects with `InviteRefused`; with another error when the INVITE could
   * not be sent.
   */
  readonly answered: Promise<SipDialog>;
  /** Sets what is told of session descriptions that come before the answer (early media). */
  onEarlyMedia(listener: (sdp: string) => void): void;
  /**
   * Gives it up: CANCEL, or BYE when the answer has crossed it. `answered` settles as if nobody had.
   * Idempotent.
   */
  cancel(): void;
}

/** The connection to the SIP server. */
export interface Signalling {
  /** Sends an INVITE. */
  dial(request: DialRequest): OutgoingInvite;
  /**
   * Takes an answered dialog over from a worker that is gone: a re-INVITE with this worker's own media (RFC
   * 3261 §14.1). Rejects with `DialogGone` when the other side has left, with another error when it cannot be
   * taken over; then it is hung up.
   */
  resume(facts: DialogFacts, sdpOffer: string): Promise<SipDialog>;
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
/**
 * A CSeq further on than anything a lost worker or server may have sent since it was last told of: gaps are
 * allowed (RFC 3261 §12.2.2).
 */
const CSEQ_LEAP = 100;
/**
 * Told with whatever begins or changes a dialog (RFC 3261 §20.5). A request of ours names no `timer`: whoever
 * is called and wants one refreshes it then, as everybody can (RFC 4028 §9).
 */
const TAKES = { Allow: ALLOW };
/** How long a dialog whose re-INVITE met another one waits before it asks again (RFC 3261 §14.1). */
const GLARE_MS = 2_500;

/** How often the other side is asked whether it is still there, where the server would not say. */
const ASK_MS = 2_000;

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
      options.logger.info('connected to signalling');
      signalling.connected();
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
    void srf.connect({
      host: options.host,
      port: options.port,
      secret: options.secret,
      reconnect,
    } as Parameters<Srf['connect']>[0]);
  });
  return signalling;
}

class DrachtioSignalling implements Signalling {
  isConnected = false;
  /** Read by drachtio-srf at every lost connection. */
  readonly reconnect: { readonly retryMaxDelay: number; maxAttempts?: number } = {
    retryMaxDelay: RECONNECT_MAX_MS,
  };
  readonly #srf: Srf;
  readonly #dialogs = new Set<DrachtioDialog>();
  #handler: ((invite: IncomingInvite) => void) | null = null;
  #hasBeenConnected = false;

  constructor(srf: Srf) {
    this.#srf = srf;
    srf.invite((request: Srf.SrfRequest, response: Srf.SrfResponse) => {
      // drachtio-srf sends the 200 before it finds out that there is no Contact to make a dialog of.
      if (!hasContact(request)) {
        response.send(400);
        return;
      }
      const invite = new DrachtioInvite(srf, request, response, this.#dialogs);
      if (this.#handler) this.#handler(invite);
      else invite.refuse(503);
    });
    // Whether anybody is there: the embedded server says so itself, drachtio-server asks whoever is connected
    // (RFC 3261 §11.2).
    srf.use('options', (_request: Srf.SrfRequest, response: Srf.SrfResponse) => {
      response.send(200, { headers: { ...TAKES, Accept: 'application/sdp' } });
    });
  }

  onInvite(handler: (invite: IncomingInvite) => void): void {
    this.#handler = handler;
  }

  dial(request: DialRequest): OutgoingInvite {
    // drachtio-srf would keep the INVITE for a connection that may come too late.
    if (!this.isConnected)
      return {
        answered: Promise.reject(new Error('not connected to signalling')),
        onEarlyMedia: () => undefined,
        cancel: () => undefined,
      };
    return new DrachtioOutgoingInvite(this.#srf, request, this.#dialogs);
  }

  async resume(facts: DialogFacts, sdpOffer: string): Promise<SipDialog> {
    if (!this.isConnected) throw new Error('not connected to signalling');
    try {
      const { dialog, isDeaf } = await reinvite(this.#srf, facts, sdpOffer);
      return new DrachtioDialog(dialog, this.#srf, this.#dialogs, { facts, isDeaf });
    } catch (error) {
      if (!(error instanceof DialogGone)) hangUpRefused(this.#srf, facts, error);
      throw error;
    }
  }

  /** The server that lost sight of this worker, or its successor, is told of every call that goes on. */
  connected(): void {
    this.isConnected = true;
    if (this.#hasBeenConnected) for (const dialog of this.#dialogs) void dialog.rebind();
    this.#hasBeenConnected = true;
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
  readonly isOverTls: boolean;
  readonly #srf: Srf;
  readonly #request: Srf.SrfRequest;
  readonly #response: Srf.SrfResponse;
  readonly #dialogs: Set<DrachtioDialog>;
  #isCancelled = false;
  #onCancel: (() => void) | null = null;

  constructor(srf: Srf, request: Srf.SrfRequest, response: Srf.SrfResponse, dialogs: Set<DrachtioDialog>) {
    this.#srf = srf;
    this.#dialogs = dialogs;
    this.#request = request;
    this.#response = response;
    this.sipCallId = request.get('Call-ID');
    this.sourceAddress = request.source_address;
    this.sdpOffer = request.body.trim() === '' ? null : request.body;
    this.isOverTls = request.protocol === 'tls';
    request.on('cancel', () => this.#cancelled());
  }

  ring(): void {
    // Whoever insists on it hears the ringing reliably, or not at all (RFC 3262 §3).
    const isReliable = /(?:^|,)\s*100rel\s*(?:,|$)/i.test(this.#request.get('Require') ?? '');
    if (this.#isCancelled) return;
    // drachtio-server does not tell of a CANCEL that came before it had a worker: it takes no response any
    // more.
    this.#response.send(
      180,
      'Ringing',
      isReliable ? { headers: { Require: '100rel' } } : {},
      (error: unknown) => {
        if (error) this.#cancelled();
      },
    );
  }

  async answer(sdp: string): Promise<SipDialog> {
    if (this.#isCancelled) throw new InviteCancelled();
    return new Promise((resolve, reject) => {
      // By callback: the ACK, a BYE or a re-INVITE may stand right behind in the same read, before any
      // promise would have settled.
      this.#srf.createUAS(
        this.#request,
        this.#response,
        { localSdp: sdp, headers: TAKES },
        (error: unknown, dialog) => {
          if (!error) resolve(new DrachtioDialog(dialog, this.#srf, this.#dialogs));
          else if (this.#isCancelled || statusOf(error) === 487) reject(new InviteCancelled());
          else reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
    });
  }

  refuse(status: number, headers: Readonly<Record<string, string>> = {}): void {
    if (!this.#isCancelled) this.#response.send(status, { headers });
  }

  onCancel(listener: () => void): void {
    this.#onCancel = listener;
    if (this.#isCancelled) listener();
  }

  #cancelled(): void {
    this.#isCancelled = true;
    this.#onCancel?.();
  }
}

class DrachtioOutgoingInvite implements OutgoingInvite {
  readonly answered: Promise<SipDialog>;
  #request: Srf.SrfRequest | null = null;
  #isCancelled = false;
  #onEarlyMedia: ((sdp: string) => void) | null = null;

  constructor(
    srf: Srf,
    { toUri, nextHop, fromNumber, sdpOffer, headers, credentials }: DialRequest,
    dialogs: Set<DrachtioDialog>,
  ) {
    // The server writes its own address for localhost. In lower case, as drachtio-srf takes them out again to
    // answer a challenge.
    const own = `<sip:${fromNumber}@localhost>`;
    // Reliable provisional responses are acknowledged by drachtio-srf.
    const options = {
      localSdp: sdpOffer,
      headers: { ...headers, allow: ALLOW, supported: '100rel', from: own, contact: own },
      ...(nextHop ? { proxy: nextHop } : {}),
      ...(credentials ? { auth: { ...credentials } } : {}),
    };
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
          void new DrachtioDialog(dialog, srf, dialogs).hangUp();
          reject(new InviteRefused(487));
        } else resolve(new DrachtioDialog(dialog, srf, dialogs));
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
  const status = statusOf(error);
  return status === 0 ? error : new InviteRefused(status);
}

class DrachtioDialog implements SipDialog {
  readonly #srf: Srf;
  /** Every dialog of the connection that is not over. */
  readonly #all: Set<DrachtioDialog>;
  #facts: DialogFacts;
  #dialog: Srf.Dialog;
  #listener: SipDialogListener | null = null;
  #referListener: ReferListener | null = null;
  #isOver = false;
  /** An offer of ours stands in a 200. */
  #awaitsAnswer = false;

  /** `before`: what stood of the dialog before it was taken over. */
  constructor(
    dialog: Srf.Dialog,
    srf: Srf,
    all: Set<DrachtioDialog>,
    before: { readonly facts: DialogFacts; readonly isDeaf: boolean } | null = null,
  ) {
    this.#srf = srf;
    this.#all = all;
    this.#dialog = dialog;
    this.#facts = before ? continued(before.facts, dialog) : factsOf(dialog);
    this.#awaitsAnswer = dialog.type === 'uas' && dialog.req.body.trim() === '';
    all.add(this);
    this.#follow(dialog);
    if (before?.isDeaf) void this.#keepAsking(dialog);
  }

  get facts(): DialogFacts {
    return this.#facts;
  }

  /**
   * The connection is back: a re-INVITE that changes nothing makes the dialog known to the server again,
   * which may have been another one until now. Whoever is called may refuse that; the call goes on as it was
   * then.
   */
  async rebind(): Promise<void> {
    if (this.#isOver) return;
    try {
      const { dialog, isDeaf } = await reinvite(this.#srf, this.#facts, this.#dialog.local.sdp);
      const before = this.#dialog;
      this.#dialog = dialog;
      this.#facts = continued(this.#facts, dialog);
      if (this.#isOver) {
        await dialog.destroy();
        return;
      }
      before.removeAllListeners();
      this.#follow(dialog);
      if (isDeaf) void this.#keepAsking(dialog);
    } catch (error) {
      if (error instanceof DialogGone) this.#end();
    }
  }

  /**
   * Nobody would tell of the other side's BYE: whether the dialog still stands is asked, until it is over or
   * another one takes its place.
   */
  async #keepAsking(dialog: Srf.Dialog): Promise<void> {
    for (;;) {
      await sleep(ASK_MS, undefined, { ref: false });
      if (this.#isOver || this.#dialog !== dialog) return;
      const isGoneNow = await dialog
        .request({ method: 'OPTIONS' } as unknown as Srf.SrfRequest)
        .then(({ status }) => isGoneStatus(status), isGone);
      if (isGoneNow && this.#dialog === dialog) this.#end();
    }
  }

  #follow(dialog: Srf.Dialog): void {
    dialog.on('destroy', () => this.#end());
    dialog.on('info', (request, response) => {
      response.send(200);
      this.#listener?.onInfo({ contentType: request.get('Content-Type') ?? '', body: request.body });
    });
    dialog.on('notify', (request, response) => {
      response.send(200);
      this.#referListener?.onNotify(
        sipfragStatus(request.body),
        /^\s*terminated\b/i.test(request.get('Subscription-State') ?? ''),
      );
    });
    // Whom the agent talks to is its own decision: without a listener drachtio-srf would say yes, and nobody
    // would call (RFC 3515 §2.4.2).
    dialog.on('refer', (_request, response) => response.send(603));
    // Said yes to as well, where nobody reads it (RFC 3261 §21.4.6).
    for (const method of ['message', 'publish'])
      dialog.on(method as 'message', (_request, response) => response.send(405, { headers: TAKES }));
    // Like drachtio-srf with everything but INVITE and BYE: whoever waits for the dialog listens to it first,
    // and an ACK before it in the same read is heard before it.
    dialog.on('modify', (request, response) => setImmediate(() => this.#modify(dialog, request, response)));
    dialog.on('update', (request: Srf.SrfRequest, response: Srf.SrfResponse) => {
      // Without a description it only says that the other side is still there (RFC 4028 §7.4).
      if (request.body.trim() === '') response.send(200, { headers: { ...TAKES, ...refreshed(request) } });
      else this.#describe(dialog, { request, response }, this.#answerTo(request.body));
    });
    dialog.on('ack', (request: Srf.SrfRequest) => {
      if (!this.#awaitsAnswer) return;
      this.#awaitsAnswer = false;
      this.#listener?.onAnswer(request.body);
    });
  }

  #modify(dialog: Srf.Dialog, request: Srf.SrfRequest, response: Srf.SrfResponse): void {
    // The BYE came in the same read (RFC 3261 §15.1.2).
    if (this.#isOver) {
      response.send(487);
      return;
    }
    this.#awaitsAnswer = request.body.trim() === '';
    this.#describe(
      dialog,
      { request, response },
      this.#awaitsAnswer ? (this.#listener?.makeOffer() ?? null) : this.#answerTo(request.body),
    );
  }

  #answerTo(offer: string): Described {
    return this.#listener?.onOffer(offer) ?? null;
  }

  #describe(
    dialog: Srf.Dialog,
    { request, response }: { readonly request: Srf.SrfRequest; readonly response: Srf.SrfResponse },
    sdp: Described,
  ): void {
    if (sdp instanceof Promise) {
      // The dialog may be over by then.
      const describe = (described: string | null) =>
        this.#isOver ? response.send(487) : this.#describe(dialog, { request, response }, described);
      sdp.then(describe, () => describe(null));
      return;
    }
    if (sdp === null) {
      response.send(488);
      return;
    }
    dialog.local.sdp = sdp;
    response.send(200, { headers: { ...TAKES, ...refreshed(request) }, body: sdp });
  }

  listen(listener: SipDialogListener): void {
    this.#listener = listener;
    if (this.#isOver) listener.onEnded();
  }

  async hangUp(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#all.delete(this);
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
    this.#all.delete(this);
    this.#referListener?.onEnded();
    this.#listener?.onEnded();
  }
}

/** A dialog after its re-INVITE. `isDeaf`: the server tells nobody what the other side asks for in it. */
interface Resumed {
  readonly dialog: Srf.Dialog;
  readonly isDeaf: boolean;
}

/**
 * Sends the re-INVITE that takes a dialog over: as an INVITE of its own with both tags, so that a server that
 * never saw the dialog sends it too. drachtio-server, where it keeps a dialog that began with an INVITE of
 * ours, makes no second one of the same name: there the re-INVITE goes into the one it keeps.
 */
async function reinvite(srf: Srf, facts: DialogFacts, localSdp: string): Promise<Resumed> {
  const { sipCallId, localParty, remoteParty, localCseq, routeSet, remoteTarget } = facts;
  const route = routeSet.length > 0 ? { route: routeSet.join(', ') } : {};
  const headers = { ...TAKES, 'call-id': sipCallId, from: localParty, to: remoteParty, ...route };
  let cseq = localCseq + CSEQ_LEAP;
  const inKept = () =>
    inviteInDialog(srf, drachtioName(sipCallId, facts.localTag), { localSdp, cseq: cseq++ });
  const ofItsOwn = () =>
    createDialog(srf, remoteTarget, { headers: { ...headers, cseq: `${cseq++} INVITE` }, localSdp });
  const kept = await afterGlare(inKept).catch((error: unknown) => {
    // The server keeps no such dialog.
    if (statusOf(error) === 0) return null;
    throw asGone(error);
  });
  if (kept) return { dialog: kept, isDeaf: true };
  const dialog = await afterGlare(ofItsOwn).catch((error: unknown) => {
    throw asGone(error);
  });
  return { dialog, isDeaf: false };
}

/** Once more when it has met the other side's own re-INVITE. */
async function afterGlare(send: () => Promise<Srf.Dialog>): Promise<Srf.Dialog> {
  try {
    return await send();
  } catch (error) {
    if (statusOf(error) !== 491) throw error;
    await sleep(GLARE_MS);
    return send();
  }
}

/** What drachtio-server calls a dialog: by its Call-ID and the tag of whoever sent the INVITE. */
function drachtioName(sipCallId: string, inviterTag: string): string {
  return `${sipCallId};from-tag=${inviterTag}`;
}

function asGone(error: unknown): unknown {
  return isGone(error) ? new DialogGone('the other side has left', { cause: error }) : error;
}

/** The other side knows the dialog no more or cannot be reached, or has told the server so already. */
function isGone(error: unknown): boolean {
  return (
    isGoneStatus(statusOf(error)) || (error instanceof Error && 'code' in error && error.code === 'ENODIALOG')
  );
}

function isGoneStatus(status: number): boolean {
  return status === 481 || status === 408;
}

/** Final status of a refused INVITE; 0 where there is none. */
function statusOf(error: unknown): number {
  return error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : 0;
}

/**
 * BYE in the dialog of an INVITE that was refused, whatever the server calls it: nobody else would send one.
 */
function hangUpRefused(
  srf: Srf,
  { sipCallId, localTag, remoteTag, localCseq }: DialogFacts,
  error: unknown,
): void {
  const { res } = error as { readonly res?: { readonly stackDialogId?: string } };
  const names = new Set([
    drachtioName(sipCallId, localTag),
    drachtioName(sipCallId, remoteTag),
    ...(res?.stackDialogId ? [res.stackDialogId] : []),
  ]);
  for (const stackDialogId of names) {
    const headers = { cseq: `${localCseq + 2 * CSEQ_LEAP} BYE` };
    requestInDialog(srf, { method: 'BYE', stackDialogId, headers }, () => undefined);
  }
}

/** A request in a dialog that drachtio-srf made no object of. */
function requestInDialog(
  srf: Srf,
  request: {
    readonly method: string;
    readonly stackDialogId: string;
    readonly headers: Record<string, string>;
    readonly body?: string;
  },
  callback: (error: Error | null, sent: Srf.SrfRequest) => void,
): void {
  const { app } = srf as unknown as {
    readonly app: {
      request(options: object, callback: (error: Error | null, sent: Srf.SrfRequest) => void): void;
    };
  };
  app.request({ ...request }, callback);
}

/** A re-INVITE in a dialog that drachtio-srf made no object of, and the object. */
function inviteInDialog(
  srf: Srf,
  stackDialogId: string,
  { localSdp, cseq }: { readonly localSdp: string; readonly cseq: number },
): Promise<Srf.Dialog> {
  return new Promise((resolve, reject) => {
    const request = {
      method: 'INVITE',
      stackDialogId,
      headers: { ...TAKES, cseq: `${cseq} INVITE` },
      body: localSdp,
    };
    requestInDialog(srf, request, (error, sent) => {
      if (error) {
        reject(error);
        return;
      }
      sent.on(
        'response' as 'cancel',
        ((response: Srf.SrfResponse, acknowledge: () => void) => {
          if (response.status < 200) return;
          acknowledge();
          if (response.status >= 300) {
            reject(
              Object.assign(new Error(`the re-INVITE was answered ${response.status}`), {
                status: response.status,
              }),
            );
            return;
          }
          const dialog = new (Srf.Dialog as unknown as new (srf: Srf, type: 'uac', of: object) => Srf.Dialog)(
            srf,
            'uac',
            {
              req: sent,
              res: response,
            },
          );
          (srf as unknown as { addDialog(dialog: Srf.Dialog): void }).addDialog(dialog);
          resolve(dialog);
        }) as never,
      );
    });
  });
}

/**
 * By callback, as everywhere: what stands behind the answer in the same read must find the dialog's
 * listeners.
 */
function createDialog(
  srf: Srf,
  uri: string,
  options: { readonly headers: Record<string, string>; readonly localSdp: string },
): Promise<Srf.Dialog> {
  return new Promise((resolve, reject) => {
    srf.createUAC(uri, options as never, {}, (error: unknown, dialog: Srf.Dialog) =>
      error ? reject(error) : resolve(dialog),
    );
  });
}

/**
 * What the 2xx to a re-INVITE or UPDATE says of the session timer (RFC 4028 §9): the sender goes on to
 * refresh, unless it wants us to. drachtio-server takes its interval from the request and leaves the 2xx to
 * us; the embedded server writes its own.
 */
function refreshed(request: Srf.SrfRequest): Record<string, string> {
  const asked = /^\s*(\d{1,9})\s*(?:;.*?refresher\s*=\s*(uac|uas))?/i.exec(
    request.get('Session-Expires') ?? '',
  );
  return asked ? { 'Session-Expires': `${asked[1]};refresher=${asked[2] ?? 'uac'}` } : {};
}

/** The status line of a `message/sipfrag` body (RFC 3420). */
function sipfragStatus(body: string): number | null {
  const status = /^\s*SIP\/2\.0 (\d{3})\b/.exec(body)?.[1];
  return status === undefined ? null : Number(status);
}

/** The URI of a Contact. */
function contactUri(contact: string): string {
  return /<([^<>]*)>/.exec(contact)?.[1] ?? contact;
}

function hasContact(request: Srf.SrfRequest): boolean {
  try {
    return /^sips?:\S/i.test(request.getParsedHeader('contact')[0]?.uri ?? '');
  } catch {
    return false;
  }
}

/**
 * A dialog after the re-INVITE that took it over: the parties and the route set stay what they were (RFC 3261
 * §12.2.1.2).
 */
function continued(before: DialogFacts, dialog: Srf.Dialog): DialogFacts {
  const { localCseq, remoteTarget, localContact, localSdp, remoteSdp } = factsOf(dialog);
  return { ...before, localCseq, remoteTarget, localContact, localSdp, remoteSdp };
}

function factsOf(dialog: Srf.Dialog): DialogFacts {
  const isOurs = dialog.type === 'uac';
  const { req, sip } = dialog;
  const { res } = dialog as unknown as { readonly res: Srf.SrfResponse };
  const recordRoute = (isOurs ? res : req).get('Record-Route') as string | undefined;
  const routes = recordRoute === undefined ? [] : recordRoute.split(/,(?=\s*<)/).map((route) => route.trim());
  return {
    sipCallId: dialog.sip.callId,
    localTag: dialog.sip.localTag,
    remoteTag: dialog.sip.remoteTag,
    localParty: isOurs ? req.get('From') : `${req.get('To')};tag=${sip.localTag}`,
    remoteParty: isOurs ? res.get('To') : req.get('From'),
    // Seen from the other end when the call is ours (RFC 3261 §12.1.2).
    routeSet: isOurs ? routes.reverse() : routes,
    localCseq: isOurs ? Number.parseInt(dialog.req.get('CSeq'), 10) : 0,
    remoteTarget: dialog.remote.uri,
    localContact: contactUri((dialog.local as unknown as { readonly contact: string }).contact),
    localSdp: dialog.local.sdp,
    remoteSdp: dialog.remote.sdp,
  };
}
