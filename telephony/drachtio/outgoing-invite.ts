/** An outbound INVITE, over drachtio-srf. */
import type Srf from 'drachtio-srf';
import { ALLOW } from '../methods.ts';
import { type DialRequest, InviteRefused, type OutgoingInvite, type SipDialog } from '../signalling.ts';
import { DrachtioDialog, type WorkerDialogs } from './dialog.ts';
import { statusOf } from './errors.ts';
import type { ServerConnection } from './server-connection.ts';

export class DrachtioOutgoingInvite implements OutgoingInvite {
  readonly answered: Promise<SipDialog>;
  readonly settled: Promise<void>;
  readonly #fail: (error: Error) => void;
  #request: Srf.SrfRequest | null = null;
  #isCancelled = false;
  #onEarlyMedia: ((sdp: string) => void) | null = null;

  constructor(
    server: ServerConnection,
    { toUri, nextHop, fromNumber, line, sdpOffer, headers, credentials }: DialRequest,
    dialogs: WorkerDialogs,
  ) {
    // The server replaces localhost by its own address. `from` is in lower case, because drachtio-srf deletes
    // it by that name when it answers a challenge.
    const from = `<sip:${line?.fromUser ?? fromNumber}@${line?.fromHost ?? 'localhost'}>`;
    const contact = `<sip:${line?.fromUser ?? fromNumber}@${line?.contactPlace ?? 'localhost'}>`;
    const route = line && line.routes.length > 0 ? { route: line.routes.join(', ') } : {};
    // drachtio-srf acknowledges reliable provisional responses.
    const options = {
      localSdp: sdpOffer,
      headers: { ...headers, ...route, allow: ALLOW, supported: '100rel', from, contact },
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
    const { promise, resolve, reject } = Promise.withResolvers<SipDialog>();
    this.answered = promise;
    this.#fail = reject;
    // With a callback, for the same reason as in `DrachtioInvite.answer`.
    server.srf.createUAC(toUri, options, progress, (error: unknown, dialog) => {
      if (error) reject(asRefusal(error));
      else if (this.#isCancelled) {
        void new DrachtioDialog(dialog, server, dialogs).hangUp();
        reject(new InviteRefused(487));
      } else resolve(new DrachtioDialog(dialog, server, dialogs));
    });
    // After `cancel` nothing may await this promise any more, and its rejection must not end the process.
    this.settled = promise.then(
      () => undefined,
      () => undefined,
    );
  }

  onEarlyMedia(listener: (sdp: string) => void): void {
    this.#onEarlyMedia = listener;
  }

  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#request?.cancel(() => undefined);
  }

  /** The connection to the server is lost: whoever answers now gets no ACK. */
  lose(): void {
    this.#fail(new Error('the connection to signalling was lost'));
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
