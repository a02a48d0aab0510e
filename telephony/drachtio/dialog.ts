/** The dialog of an answered call, over drachtio-srf. */
import { setTimeout as sleep } from 'node:timers/promises';
import type Srf from 'drachtio-srf';
import { parameter } from '../embedded/message.ts';
import type {
  DialogFacts,
  ReferListener,
  ReferRequest,
  SdpReply,
  SipDialog,
  SipDialogListener,
} from '../signalling.ts';
import { DialogGone } from '../signalling.ts';
import { CAPABILITIES } from './capabilities.ts';
import { allowsInfo, continued, factsOf } from './dialog-facts.ts';
import { isConnectionLost, isGone, isGoneStatus, isUnreachable } from './errors.ts';
import { CSEQ_LEAP, hangUpWithout, reinvite } from './reinvite.ts';
import type { ServerConnection } from './server-connection.ts';

/** Interval of OPTIONS to the peer when the server would not report its BYE. */
const ASK_MS = 2_000;

/** Seconds until a peer may repeat a request that its new server did not know yet. */
const RETRY_AFTER = '1';
/** A move that takes longer is given up when the server that had the dialog is back. */
const MOVE_MS = 3_000;

/** Shared by all dialogs of a worker. */
export interface WorkerDialogs {
  /** Those that are open. */
  readonly open: Set<DrachtioDialog>;
  /** Resolves when this worker certainly has its calls: another one may have taken them meanwhile. */
  hasItsCalls(): Promise<void>;
}

export class DrachtioDialog implements SipDialog {
  readonly #all: WorkerDialogs;
  /** The server that is to have the dialog; another object for each attempt to make it known there. */
  #binding: Binding;
  #facts: DialogFacts;
  #dialog: Srf.Dialog;
  /** The server of `#dialog`: the last one that had it. */
  #at: ServerConnection;
  #listener: SipDialogListener | null = null;
  #referListener: ReferListener | null = null;
  #isOver = false;
  /** Our 200 carried an offer, so the ACK carries the answer. */
  #awaitsAnswer = false;
  /** CSeq of the newest INFO: a proxy may repeat one through another server. */
  #infoCseq = 0;

  /** `before`: the dialog on the worker that died. */
  constructor(
    dialog: Srf.Dialog,
    home: ServerConnection,
    all: WorkerDialogs,
    before: { readonly facts: DialogFacts; readonly isDeaf: boolean } | null = null,
  ) {
    this.#binding = { home, is: 'known' };
    this.#at = home;
    this.#all = all;
    this.#dialog = dialog;
    this.#facts = { ...(before ? continued(before.facts, dialog) : factsOf(dialog)), server: home.name };
    this.#awaitsAnswer = dialog.type === 'uas' && dialog.req.body.trim() === '';
    all.open.add(this);
    this.#follow(dialog);
    if (before?.isDeaf) void this.#probe(dialog);
  }

  get facts(): DialogFacts {
    return this.#facts;
  }

  /** The server that has the dialog, or is to have it once it is connected. */
  get home(): ServerConnection {
    return this.#binding.home;
  }

  /** True if this is the dialog of a request of the peer. */
  has(request: Srf.SrfRequest): boolean {
    // drachtio-srf's own parser throws on a header without an address.
    const tagOf = (name: 'From' | 'To') => parameter(request.get(name) ?? '', 'tag') ?? '';
    return (
      request.get('Call-ID') === this.#facts.sipCallId &&
      tagOf('To') === this.#facts.localTag &&
      tagOf('From') === this.#facts.remoteTag
    );
  }

  /**
   * Makes the dialog known to this server by a re-INVITE without changes, after the connection was lost: the
   * server may be another one, or have started anew. The call continues even if the peer refuses it.
   */
  async rebind(home: ServerConnection): Promise<void> {
    const binding: Binding = { home, is: 'pending' };
    this.#binding = binding;
    await this.#all.hasItsCalls();
    // Overtaken by another attempt or worker; or the server is lost, and the next connection moves it.
    if (this.#binding !== binding || !home.isConnected) return;
    // The peer hung up meanwhile.
    if (!this.#all.open.has(this)) return;
    if (this.#isOver) {
      this.#sayBye();
      return;
    }
    // An attempt that is lost with its server may have reached the peer: the next one needs a higher CSeq.
    const before = this.#facts;
    this.#facts = { ...before, localCseq: before.localCseq + CSEQ_LEAP };
    try {
      const { dialog, isDeaf } = await reinvite(home.srf, before, this.#dialog.local.sdp, home.isEmbedded);
      if (this.#binding === binding) await this.#move(dialog, isDeaf);
      // Overtaken by another attempt, or by another worker.
      else if (this.home !== home || this.#isOver) home.forget(dialog);
    } catch (error) {
      if (this.#binding === binding) this.#refused(error);
    }
  }

  /** A server is connected again: takes the dialog unless another one has it. */
  async comeBack(server: ServerConnection): Promise<void> {
    const { home } = this;
    if (home !== server && home.isConnected) {
      if (this.#at !== server) return;
      // The peer may be reachable only from there.
      const binding = this.#binding;
      if (binding.is === 'pending') await sleep(MOVE_MS, undefined, { ref: false });
      if (this.#binding !== binding || binding.is === 'known' || !this.#all.open.has(this)) return;
    }
    if (server.isConnected) await this.rebind(server);
  }

  /** The dialog is known at its new home. */
  async #move(dialog: Srf.Dialog, isDeaf: boolean): Promise<void> {
    const { home } = this;
    const [previous, from] = [this.#dialog, this.#at];
    this.#binding.is = 'known';
    this.#dialog = dialog;
    this.#at = home;
    this.#facts = { ...continued(this.#facts, dialog), server: home.name };
    previous.removeAllListeners();
    // Not before: until then it works there, should the connection come back.
    if (from !== home) from.forget(previous);
    if (this.#isOver) {
      await this.#sayByeThere();
      return;
    }
    this.#follow(dialog);
    this.#listener?.onMoved?.();
    if (isDeaf) void this.#probe(dialog);
  }

  #refused(error: unknown): void {
    const { home } = this;
    this.#binding.is = 'refused';
    if (this.#at !== home && error instanceof DialogGone && isUnreachable(error.cause)) {
      // The lost server may reach a peer that this one does not, over the peer's own connection.
      if (this.#at.isConnected) void this.rebind(this.#at);
      else if (this.#isOver) this.#sayBye();
    } else if (error instanceof DialogGone) this.#end();
    else if (this.#isOver) this.#sayBye();
  }

  /** Handles a request of the peer that arrived through a server which does not know the dialog. */
  takeStray(request: Srf.SrfRequest, response: Srf.SrfResponse, server: ServerConnection): void {
    switch (request.method) {
      case 'BYE':
        response.send(200);
        this.#end();
        this.#at.forget(this.#dialog);
        return;
      case 'INFO':
        this.#takeInfo(request, response);
        return;
      case 'NOTIFY':
        this.#takeNotify(request, response);
        return;
      case 'OPTIONS':
        response.send(200, { headers: CAPABILITIES });
        return;
      case 'INVITE':
      case 'UPDATE':
        // Repeated, it finds the dialog there.
        response.send(500, { headers: { 'Retry-After': RETRY_AFTER } });
        this.#moveTo(server);
        return;
      default:
        response.send(405, { headers: CAPABILITIES });
    }
  }

  #moveTo(server: ServerConnection): void {
    const { home, is } = this.#binding;
    // One move at a time; the peer repeats its request.
    const isMoving = is === 'pending' && home.isConnected;
    if (!this.#isOver && !isMoving && (home !== server || is === 'refused')) void this.rebind(server);
  }

  /** The server will not report the peer's BYE: sends OPTIONS until the dialog ends or is replaced. */
  async #probe(dialog: Srf.Dialog): Promise<void> {
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
    dialog.on('info', (request, response) => this.#takeInfo(request, response));
    dialog.on('notify', (request, response) => this.#takeNotify(request, response));
    // Refuse transfers by the caller. Without a listener drachtio-srf accepts the REFER and nothing calls the
    // target (RFC 3515 §2.4.2).
    dialog.on('refer', (_request, response) => response.send(603));
    // drachtio-srf would accept these too, though no code reads them (RFC 3261 §21.4.6).
    for (const method of ['message', 'publish'])
      dialog.on(method as 'message', (_request, response) => response.send(405, { headers: CAPABILITIES }));
    // Deferred, as drachtio-srf defers all requests but INVITE and BYE: code awaiting the dialog can set its
    // listener first, and an ACK in the same read is handled first.
    dialog.on('modify', (request, response) => setImmediate(() => this.#modify(dialog, request, response)));
    dialog.on('update', (request: Srf.SrfRequest, response: Srf.SrfResponse) => {
      // An UPDATE without a description only refreshes the session (RFC 4028 §7.4).
      if (request.body.trim() === '')
        response.send(200, { headers: { ...CAPABILITIES, ...refreshed(request) } });
      else this.#describe(dialog, { request, response }, this.#answerTo(request.body));
    });
    dialog.on('ack', (request: Srf.SrfRequest) => {
      if (!this.#awaitsAnswer) return;
      this.#awaitsAnswer = false;
      this.#listener?.onAnswer(request.body);
    });
  }

  #takeInfo(request: Srf.SrfRequest, response: Srf.SrfResponse): void {
    response.send(200);
    const cseq = Number.parseInt(request.get('CSeq'), 10);
    if (cseq <= this.#infoCseq) return;
    this.#infoCseq = cseq;
    this.#listener?.onInfo({ contentType: request.get('Content-Type') ?? '', body: request.body });
  }

  #takeNotify(request: Srf.SrfRequest, response: Srf.SrfResponse): void {
    response.send(200);
    this.#referListener?.onNotify(
      sipfragStatus(request.body),
      /^\s*terminated\b/i.test(request.get('Subscription-State') ?? ''),
    );
  }

  #modify(dialog: Srf.Dialog, request: Srf.SrfRequest, response: Srf.SrfResponse): void {
    // A BYE arrived in the same read (RFC 3261 §15.1.2).
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

  #answerTo(offer: string): SdpReply {
    return this.#listener?.onOffer(offer) ?? null;
  }

  #describe(
    dialog: Srf.Dialog,
    { request, response }: { readonly request: Srf.SrfRequest; readonly response: Srf.SrfResponse },
    sdp: SdpReply,
  ): void {
    if (sdp instanceof Promise) {
      // The dialog may have ended by then.
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
    response.send(200, { headers: { ...CAPABILITIES, ...refreshed(request) }, body: sdp });
  }

  listen(listener: SipDialogListener): void {
    this.#listener = listener;
    if (this.#isOver) listener.onEnded();
  }

  async hangUp(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    // Kept until a server is connected, or knows the dialog: the BYE follows then.
    const { home, is } = this.#binding;
    if (!home.isConnected || is === 'pending') return;
    if (is === 'known') await this.#sayByeThere();
    else this.#sayBye();
  }

  leave(): void {
    this.#isOver = true;
    this.#all.open.delete(this);
    // A move that is under way must not hang up.
    this.#binding = { home: this.home, is: 'known' };
    this.#dialog.removeAllListeners();
  }

  /** Sends BYE through the server that knows the dialog. If it is lost, another one will send it. */
  async #sayByeThere(): Promise<void> {
    try {
      await this.home.whileConnected(this.#dialog.destroy() as unknown as Promise<unknown>);
    } catch (error) {
      if (isConnectionLost(error)) return;
      // The peer or the server no longer knows the dialog: it is over either way.
    }
    this.#all.open.delete(this);
  }

  /** Sends BYE through a server that does not know the dialog. If it is lost, another one will send it. */
  #sayBye(): void {
    const binding = this.#binding;
    this.#at.forget(this.#dialog);
    const done = (error?: unknown) => {
      if (this.#binding === binding && !isConnectionLost(error)) this.#all.open.delete(this);
    };
    hangUpWithout(binding.home.srf, this.#facts).then(() => done(), done);
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

  get takesInfo(): boolean {
    return allowsInfo(this.#dialog);
  }

  async sendInfo(contentType: string, body: string): Promise<number> {
    if (this.#isOver) return 0;
    const info = { method: 'INFO', headers: { 'Content-Type': contentType }, body };
    return this.#dialog.request(info as unknown as Srf.SrfRequest).then(
      ({ status }) => status,
      () => 0,
    );
  }

  #end(): void {
    this.#all.open.delete(this);
    if (this.#isOver) return;
    this.#isOver = true;
    this.#referListener?.onEnded();
    this.#listener?.onEnded();
  }
}

interface Binding {
  readonly home: ServerConnection;
  is: 'known' | 'pending' | 'refused';
}

/**
 * Session timer in the 2xx to a re-INVITE or UPDATE (RFC 4028 §9): the sender keeps refreshing unless it asks
 * us to. drachtio-server reads its interval from the request and leaves the 2xx to us; the embedded server
 * writes its own header.
 */
function refreshed(request: Srf.SrfRequest): Record<string, string> {
  const requested = /^\s*(\d{1,9})\s*(?:;.*?refresher\s*=\s*(uac|uas))?/i.exec(
    request.get('Session-Expires') ?? '',
  );
  return requested ? { 'Session-Expires': `${requested[1]};refresher=${requested[2] ?? 'uac'}` } : {};
}

/** Returns the status of a `message/sipfrag` body (RFC 3420), or null. */
function sipfragStatus(body: string): number | null {
  const status = /^\s*SIP\/2\.0 (\d{3})\b/.exec(body)?.[1];
  return status === undefined ? null : Number(status);
}
