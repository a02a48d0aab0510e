/**
 * `Signalling` over drachtio-srf, with the embedded server or drachtio-server behind it. Only this folder
 * imports drachtio-srf.
 */
import Srf from 'drachtio-srf';
import type { Logger } from '#base/log.ts';
import {
  type DialogFacts,
  DialogGone,
  type DialRequest,
  type IncomingInvite,
  type OutgoingInvite,
  type Signalling,
  type SipDialog,
} from '../signalling.ts';
import { CAPABILITIES } from './capabilities.ts';
import { DrachtioDialog } from './dialog.ts';
import { DrachtioInvite, hasContact } from './incoming-invite.ts';
import { DrachtioOutgoingInvite } from './outgoing-invite.ts';
import { hangUpRefused, reinvite } from './reinvite.ts';
import { ProbeAnswers, type WorkerWatch } from './worker-probe.ts';

/** How to reach the SIP server. */
export interface DrachtioOptions {
  readonly host: string;
  readonly port: number;
  readonly secret: string;
  /** Admission routes calls to this worker by its tag; at most 32 letters, digits and `-_+@:`. */
  readonly tag: string;
  /** Absent: this worker is not watched by signalling. */
  readonly watch?: WorkerWatch | undefined;
  readonly logger: Logger;
}
/** Longest pause between attempts to reconnect: without signalling a worker takes no phone calls. */
const RECONNECT_MAX_MS = 1_000;

/** Connects and keeps reconnecting; resolves after the first connection. */
export async function connectSignalling(options: DrachtioOptions): Promise<Signalling> {
  const srf = new Srf(options.tag);
  const signalling = new DrachtioSignalling(srf, options);
  await new Promise<void>((resolve) => {
    srf.on('connect', (error: unknown) => {
      if (error) {
        options.logger.error({ err: error }, 'the SIP server refused the connection');
        return;
      }
      options.logger.info('connected to the SIP server');
      signalling.connected();
      resolve();
    });
    srf.on('error', (error: unknown) => {
      if (signalling.isConnected)
        options.logger.warn({ err: error }, 'the connection to the SIP server was lost; reconnecting');
      signalling.isConnected = false;
    });
    srf.on('close' as 'disconnect', () => {
      if (signalling.isConnected)
        options.logger.warn('the connection to the SIP server was lost; reconnecting');
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
  /** drachtio-srf reads these options at every lost connection. */
  readonly reconnect: { readonly retryMaxDelay: number; maxAttempts?: number } = {
    retryMaxDelay: RECONNECT_MAX_MS,
  };
  readonly #srf: Srf;
  readonly #dialogs = new Set<DrachtioDialog>();
  #handler: ((invite: IncomingInvite) => void) | null = null;
  #hasBeenConnected = false;
  readonly #watch: WorkerWatch | undefined;

  constructor(srf: Srf, { secret, watch }: Pick<DrachtioOptions, 'secret' | 'watch'>) {
    this.#srf = srf;
    this.#watch = watch;
    const answers = watch && new ProbeAnswers(watch, secret);
    srf.invite((request: Srf.SrfRequest, response: Srf.SrfResponse) => {
      // Without a Contact drachtio-srf would send the 200 and then fail to create the dialog.
      if (!hasContact(request)) {
        response.send(400);
        return;
      }
      const invite = new DrachtioInvite(srf, request, response, this.#dialogs);
      if (this.#handler) this.#handler(invite);
      else invite.refuse(503);
    });
    // OPTIONS as a liveness check: the embedded server answers itself, drachtio-server forwards it to a
    // connected worker (RFC 3261 §11.2).
    srf.use('options', (request: Srf.SrfRequest, response: Srf.SrfResponse) => {
      const sign = answers?.headersFor(request);
      response.send(200, { headers: { ...CAPABILITIES, Accept: 'application/sdp', ...sign } });
    });
  }

  onInvite(handler: (invite: IncomingInvite) => void): void {
    this.#handler = handler;
  }

  dial(request: DialRequest): OutgoingInvite {
    // drachtio-srf would queue the INVITE until a connection that may come too late.
    if (!this.isConnected)
      return {
        answered: Promise.reject(new Error('not connected to signalling')),
        onEarlyMedia: () => undefined,
        cancel: () => undefined,
      };
    return new DrachtioOutgoingInvite(this.#srf, request, this.#dialogs);
  }

  async failOver(facts: DialogFacts, sdpOffer: string): Promise<SipDialog> {
    if (!this.isConnected) throw new Error('not connected to signalling');
    try {
      const { dialog, isDeaf } = await reinvite(this.#srf, facts, sdpOffer);
      return new DrachtioDialog(dialog, this.#srf, this.#dialogs, { facts, isDeaf });
    } catch (error) {
      if (!(error instanceof DialogGone)) hangUpRefused(this.#srf, facts, error);
      throw error;
    }
  }

  /** After a reconnect, makes all open dialogs known to the server, which may be a new one. */
  connected(): void {
    this.isConnected = true;
    if (this.#hasBeenConnected) void this.#rebind();
    this.#hasBeenConnected = true;
  }

  /** Another worker may have the dialogs by now: they must not be moved back. */
  async #rebind(): Promise<void> {
    await this.#watch?.hasItsCalls();
    if (this.isConnected) for (const dialog of this.#dialogs) void dialog.rebind();
  }

  close(): void {
    this.reconnect.maxAttempts = 1;
    // drachtio-srf throws if there is no connection to close.
    if (this.isConnected) this.#srf.disconnect();
    this.isConnected = false;
  }
}
