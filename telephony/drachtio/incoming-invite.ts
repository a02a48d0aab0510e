/** An inbound INVITE, over drachtio-srf. */
import type Srf from 'drachtio-srf';
import { type IncomingInvite, InviteCancelled, type SipDialog } from '../signalling.ts';
import { CAPABILITIES } from './capabilities.ts';
import { DrachtioDialog, type WorkerDialogs } from './dialog.ts';
import { ConnectionLost, statusOf } from './errors.ts';
import type { ServerConnection } from './server-connection.ts';

export class DrachtioInvite implements IncomingInvite {
  readonly sipCallId: string;
  readonly sourceAddress: string;
  readonly sdpOffer: string | null;
  readonly isOverTls: boolean;
  /** Resolves when the call is answered, refused or cancelled. */
  readonly settled: Promise<void>;
  readonly #settle: () => void;
  readonly #server: ServerConnection;
  readonly #request: Srf.SrfRequest;
  readonly #response: Srf.SrfResponse;
  readonly #dialogs: WorkerDialogs;
  #isCancelled = false;
  #onCancel: (() => void) | null = null;

  constructor(
    server: ServerConnection,
    { request, response }: { readonly request: Srf.SrfRequest; readonly response: Srf.SrfResponse },
    dialogs: WorkerDialogs,
  ) {
    ({ promise: this.settled, resolve: this.#settle } = Promise.withResolvers<void>());
    this.#server = server;
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
    // A caller that requires 100rel gets a reliable 180 (RFC 3262 §3).
    const isReliable = /(?:^|,)\s*100rel\s*(?:,|$)/i.test(this.#request.get('Require') ?? '');
    if (this.#isCancelled) return;
    // drachtio-server does not report a CANCEL that arrived before a worker was assigned; sending the 180
    // fails instead.
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
    const answered = new Promise<SipDialog>((resolve, reject) => {
      // With a callback: an ACK, BYE or re-INVITE may follow in the same read, before a promise would have
      // settled.
      this.#server.srf.createUAS(
        this.#request,
        this.#response,
        { localSdp: sdp, headers: CAPABILITIES },
        (error: unknown, dialog) => {
          this.#settle();
          if (!error) resolve(new DrachtioDialog(dialog, this.#server, this.#dialogs));
          else if (this.#isCancelled || statusOf(error) === 487) reject(new InviteCancelled());
          else reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
    });
    return this.#server.whileConnected(answered).catch((error: unknown) => {
      throw error instanceof ConnectionLost ? new InviteCancelled() : error;
    });
  }

  refuse(status: number, headers: Readonly<Record<string, string>> = {}): void {
    this.#settle();
    if (!this.#isCancelled) this.#response.send(status, { headers });
  }

  onCancel(listener: () => void): void {
    this.#onCancel = listener;
    if (this.#isCancelled) listener();
  }

  /** The connection to the server is lost: to the caller the call is refused, or gets no answer. */
  lose(): void {
    this.#cancelled();
  }

  #cancelled(): void {
    this.#settle();
    this.#isCancelled = true;
    this.#onCancel?.();
  }
}

/** Whether the request has a Contact with a SIP URI. */
export function hasContact(request: Srf.SrfRequest): boolean {
  try {
    return /^sips?:\S/i.test(request.getParsedHeader('contact')[0]?.uri ?? '');
  } catch {
    return false;
  }
}
