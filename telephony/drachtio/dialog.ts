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
import { isGone, isGoneStatus } from './errors.ts';
import { reinvite } from './reinvite.ts';

/** Interval of OPTIONS to the peer when the server would not report its BYE. */
const ASK_MS = 2_000;

export class DrachtioDialog implements SipDialog {
  readonly #srf: Srf;
  /** All open dialogs of the connection. */
  readonly #all: Set<DrachtioDialog>;
  #facts: DialogFacts;
  #dialog: Srf.Dialog;
  #listener: SipDialogListener | null = null;
  #referListener: ReferListener | null = null;
  #isOver = false;
  /** Another worker has the dialog. */
  #hasLeft = false;
  /** Our 200 carried an offer, so the ACK carries the answer. */
  #awaitsAnswer = false;

  /** `before`: the dialog on the worker that died. */
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
    if (before?.isDeaf) void this.#probe(dialog);
  }

  get facts(): DialogFacts {
    return this.#facts;
  }

  /**
   * Runs when the connection is back: a re-INVITE without changes makes the dialog known to the server, which
   * may be a new one. The call continues even if the peer refuses it.
   */
  async rebind(): Promise<void> {
    if (this.#isOver) return;
    try {
      const { dialog, isDeaf } = await reinvite(this.#srf, this.#facts, this.#dialog.local.sdp, true);
      const before = this.#dialog;
      this.#dialog = dialog;
      this.#facts = continued(this.#facts, dialog);
      if (this.#isOver) {
        if (!this.#hasLeft) await dialog.destroy();
        return;
      }
      before.removeAllListeners();
      this.#follow(dialog);
      if (isDeaf) void this.#probe(dialog);
    } catch (error) {
      if (error instanceof DialogGone) this.#end();
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
    this.#all.delete(this);
    try {
      await this.#dialog.destroy();
    } catch {
      // The peer or the server no longer knows the dialog: it is over either way.
    }
  }

  leave(): void {
    this.#isOver = true;
    this.#hasLeft = true;
    this.#all.delete(this);
    this.#dialog.removeAllListeners();
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
