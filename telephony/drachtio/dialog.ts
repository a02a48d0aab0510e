/** The dialog of an answered call, over drachtio-srf. */
import { setTimeout as sleep } from 'node:timers/promises';
import type Srf from 'drachtio-srf';
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
import { continued, factsOf } from './dialog-facts.ts';
import { isGone, isGoneStatus, isUnreachable } from './errors.ts';
import { CSEQ_LEAP, hangUpWithout, reinvite } from './reinvite.ts';
import type { ServerConnection } from './server-connection.ts';

/** Interval of OPTIONS to the peer when the server would not report its BYE. */
const ASK_MS = 2_000;

/** Seconds until a peer may repeat a request that its new server did not know yet. */
const RETRY_AFTER = '1';

export class DrachtioDialog implements SipDialog {
  /** All open dialogs of the worker. */
  readonly #all: Set<DrachtioDialog>;
  /** The server that has the dialog, or is to have it once it is connected. */
  #home: ServerConnection;
  /** Whether `#home` knows the dialog; another object for each attempt to make it known. */
  #binding: Binding = { is: 'known' };
  #facts: DialogFacts;
  #dialog: Srf.Dialog;
  #listener: SipDialogListener | null = null;
  #referListener: ReferListener | null = null;
  #isOver = false;
  /** Our 200 carried an offer, so the ACK carries the answer. */
  #awaitsAnswer = false;

  /** `before`: the dialog on the worker that died. */
  constructor(
    dialog: Srf.Dialog,
    home: ServerConnection,
    all: Set<DrachtioDialog>,
    before: { readonly facts: DialogFacts; readonly isDeaf: boolean } | null = null,
  ) {
    this.#home = home;
    this.#all = all;
    this.#dialog = dialog;
    this.#facts = { ...(before ? continued(before.facts, dialog) : factsOf(dialog)), server: home.name };
    this.#awaitsAnswer = dialog.type === 'uas' && dialog.req.body.trim() === '';
    all.add(this);
    this.#follow(dialog);
    if (before?.isDeaf) void this.#probe(dialog);
  }

  get facts(): DialogFacts {
    return this.#facts;
  }

  get home(): ServerConnection {
    return this.#home;
  }

  /** True if this is the dialog of a request of the peer. */
  has(request: Srf.SrfRequest): boolean {
    const tagOf = (name: 'from' | 'to') => (request.getParsedHeader(name) as HeaderWithTag).params?.tag;
    return (
      request.get('Call-ID') === this.#facts.sipCallId &&
      tagOf('to') === this.#facts.localTag &&
      (tagOf('from') ?? '') === this.#facts.remoteTag
    );
  }

  /**
   * Makes the dialog known to this server by a re-INVITE without changes, after the connection was lost: the
   * server may be another one, or have started anew. The call continues even if the peer refuses it.
   */
  async rebind(home: ServerConnection): Promise<void> {
    const binding: Binding = { is: 'pending' };
    if (this.#home !== home) this.#home.forget(this.#dialog);
    this.#home = home;
    this.#binding = binding;
    if (this.#isOver) {
      this.#sayBye();
      return;
    }
    // An attempt that is lost with its server may have reached the peer: the next one needs a higher CSeq.
    const before = this.#facts;
    this.#facts = { ...before, localCseq: before.localCseq + CSEQ_LEAP };
    const isMoved = before.server !== home.name;
    try {
      const { dialog, isDeaf } = await reinvite(home.srf, before, this.#dialog.local.sdp);
      if (this.#binding !== binding) return;
      binding.is = 'known';
      const previous = this.#dialog;
      this.#dialog = dialog;
      this.#facts = { ...continued(this.#facts, dialog), server: home.name };
      if (this.#isOver) {
        this.#all.delete(this);
        await dialog.destroy();
        return;
      }
      previous.removeAllListeners();
      this.#follow(dialog);
      if (isDeaf) void this.#probe(dialog);
    } catch (error) {
      if (this.#binding !== binding) return;
      binding.is = 'refused';
      // Another server may not reach a peer that the lost one did, over the peer's own connection.
      if (error instanceof DialogGone && !(isMoved && isUnreachable(error.cause))) this.#end();
      else if (this.#isOver) this.#sayBye();
    }
  }

  /** Handles a request of the peer that arrived through a server which does not know the dialog. */
  takeStray(request: Srf.SrfRequest, response: Srf.SrfResponse, server: ServerConnection): void {
    switch (request.method) {
      case 'BYE':
        response.send(200);
        this.#end();
        this.#all.delete(this);
        this.#home.forget(this.#dialog);
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
        if (this.#home !== server) void this.rebind(server);
        return;
      default:
        response.send(405, { headers: CAPABILITIES });
    }
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
    if (!this.#home.isConnected || this.#binding.is === 'pending') return;
    if (this.#binding.is === 'refused') {
      this.#sayBye();
      return;
    }
    this.#all.delete(this);
    try {
      await this.#dialog.destroy();
    } catch {
      // The peer or the server no longer knows the dialog: it is over either way.
    }
  }

  leave(): void {
    this.#isOver = true;
    this.#all.delete(this);
    // A move that is under way must not hang up.
    this.#binding = { is: 'known' };
    this.#dialog.removeAllListeners();
  }

  /** Sends BYE through a server that does not know the dialog. */
  #sayBye(): void {
    this.#all.delete(this);
    hangUpWithout(this.#home.srf, this.#facts);
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

interface Binding {
  is: 'known' | 'pending' | 'refused';
}

interface HeaderWithTag {
  readonly params?: { readonly tag?: string };
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
