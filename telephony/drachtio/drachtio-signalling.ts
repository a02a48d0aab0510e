/**
 * `Signalling` over drachtio-srf, with embedded servers or drachtio-servers behind it. A worker serves all of
 * them: any may bring a call or a request of one, and the calls of a lost server move to another. Only this
 * folder imports drachtio-srf.
 */
import type Srf from 'drachtio-srf';
import {
  type AnswerRegister,
  type DialogFacts,
  DialogGone,
  type DialRequest,
  type IncomingInvite,
  type OutgoingInvite,
  type PlainRequest,
  type PlainResponse,
  type Signalling,
  type SipDialog,
} from '../signalling.ts';
import { CAPABILITIES } from './capabilities.ts';
import { DrachtioDialog, type WorkerDialogs } from './dialog.ts';
import { ConnectionLost } from './errors.ts';
import { DrachtioInvite, hasContact } from './incoming-invite.ts';
import { answerIncoming } from './incoming-register.ts';
import { DrachtioOutgoingInvite } from './outgoing-invite.ts';
import { sendPlainRequest } from './plain-request.ts';
import { hangUpRefused, reinvite } from './reinvite.ts';
import { type ConnectionOptions, ServerConnection, type SipServerAddress } from './server-connection.ts';
import { ProbeAnswers, type WorkerWatch } from './worker-probe.ts';

/** The SIP servers of a worker, and how to reach them. */
export interface DrachtioOptions extends ConnectionOptions {
  /** At least one. */
  readonly servers: readonly SipServerAddress[];
  /** Absent: a supervisor watches this worker, and signalling does not. */
  readonly watch?: WorkerWatch | undefined;
}

/** Connects to every server and keeps reconnecting; `connected` resolves with the first connection. */
export function openSignalling(options: DrachtioOptions): {
  readonly signalling: Signalling;
  readonly connected: Promise<void>;
} {
  const { promise: connected, resolve } = Promise.withResolvers<void>();
  return { signalling: new DrachtioSignalling(options, resolve), connected };
}

/**
 * Added to the CSeq that a dead worker has reported: more than the re-INVITEs by which its call may have
 * moved between servers since.
 */
const FAILOVER_LEAP = 10_000;

/** A call that is not answered yet, in or out: it ends with the connection that carries it. */
type Unanswered = DrachtioInvite | DrachtioOutgoingInvite;

class DrachtioSignalling implements Signalling {
  readonly #connections: readonly ServerConnection[];
  readonly #dialogs: WorkerDialogs;
  readonly #unanswered = new Map<Unanswered, ServerConnection>();
  #handler: ((invite: IncomingInvite) => void) | null = null;
  #registrar: AnswerRegister | null = null;
  /** Counts the dialled and moved calls, which take the servers in turn. */
  #turn = 0;
  constructor(options: DrachtioOptions, onFirst: () => void) {
    const { watch } = options;
    this.#dialogs = { open: new Set(), hasItsCalls: async () => watch?.hasItsCalls() };
    this.#connections = options.servers.map((address) => new ServerConnection(address, options));
    for (const [index, connection] of this.#connections.entries()) {
      const answers = new ProbeAnswers(watch ?? null, options.secret);
      this.#serve(connection, answers);
      const up = () => {
        for (const dialog of this.#dialogs.open) void dialog.comeBack(connection);
        onFirst();
      };
      connection.open(options.servers[index] as SipServerAddress, {
        onUp: up,
        onDown: () => this.#moveFrom(connection),
        onRefused: () => answers.serverGone(),
        isOnly: () => this.#connected().every((each) => each === connection),
      });
    }
  }

  get isConnected(): boolean {
    return this.#connections.some(({ isConnected }) => isConnected);
  }

  get servers(): readonly string[] {
    return this.#connected().map(({ name }) => name);
  }

  onInvite(handler: (invite: IncomingInvite) => void): void {
    this.#handler = handler;
  }

  onRegister(handler: AnswerRegister): void {
    this.#registrar = handler;
  }

  dial(request: DialRequest): OutgoingInvite {
    const server = this.#named(request.line?.server) ?? this.#next();
    // drachtio-srf would queue the INVITE until a connection that may come too late.
    if (!server)
      return {
        answered: Promise.reject(new Error('not connected to signalling')),
        onEarlyMedia: () => undefined,
        cancel: () => undefined,
      };
    const invite = new DrachtioOutgoingInvite(server, request, this.#dialogs);
    this.#untilAnswered(invite, server);
    return invite;
  }

  async request(request: PlainRequest): Promise<PlainResponse> {
    const server = this.#named(request.server) ?? this.#next();
    if (!server) throw new Error('not connected to signalling');
    return sendPlainRequest(server, request);
  }

  async failOver(reported: DialogFacts, sdpOffer: string): Promise<SipDialog> {
    const facts = { ...reported, localCseq: reported.localCseq + FAILOVER_LEAP };
    const server = this.#named(facts.server) ?? this.#next();
    if (!server) throw new Error('not connected to signalling');
    try {
      const { dialog, isDeaf } = await server.whileConnected(reinvite(server.srf, facts, sdpOffer));
      return new DrachtioDialog(dialog, server, this.#dialogs, { facts, isDeaf });
    } catch (error) {
      if (error instanceof ConnectionLost) return this.failOver(facts, sdpOffer);
      if (!(error instanceof DialogGone)) hangUpRefused(server.srf, facts, error);
      throw error;
    }
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  /** Handles what this server sends. */
  #serve(server: ServerConnection, answers: ProbeAnswers): void {
    const { srf } = server;
    const unknown = (request: Srf.SrfRequest, response: Srf.SrfResponse, next: () => void) => {
      // drachtio-srf has passed on the requests of the dialogs that it knows through this server.
      if (request.method === 'ACK' || !/;\s*tag\s*=/i.test(request.get('To') ?? '')) next();
      else this.#takeStray(request, response, server);
    };
    srf.use(unknown as never);
    srf.invite((request: Srf.SrfRequest, response: Srf.SrfResponse) => {
      // Without a Contact drachtio-srf would send the 200 and then fail to create the dialog.
      if (!hasContact(request)) {
        response.send(400);
        return;
      }
      const invite = new DrachtioInvite(server, { request, response }, this.#dialogs);
      this.#untilAnswered(invite, server);
      if (this.#handler) this.#handler(invite);
      else invite.refuse(503);
    });
    srf.use('register', (request: Srf.SrfRequest, response: Srf.SrfResponse) => {
      if (this.#registrar) void answerIncoming(this.#registrar, { request, response, server: server.name });
      else response.send(405);
    });
    // OPTIONS as a liveness check: the embedded server answers itself, drachtio-server forwards it to a
    // connected worker (RFC 3261 §11.2).
    srf.use('options', (request: Srf.SrfRequest, response: Srf.SrfResponse) => {
      const sign = answers.headersFor(request);
      response.send(200, { headers: { ...CAPABILITIES, Accept: 'application/sdp', ...sign } });
    });
  }

  /** A request inside a dialog of another server, or of a connection that was lost; or of no call at all. */
  #takeStray(request: Srf.SrfRequest, response: Srf.SrfResponse, server: ServerConnection): void {
    const dialog = [...this.#dialogs.open].find((each) => each.has(request));
    if (dialog) dialog.takeStray(request, response, server);
    else response.send(481);
  }

  /** Remembers a call until it is answered, refused or cancelled. */
  #untilAnswered(call: Unanswered, server: ServerConnection): void {
    this.#unanswered.set(call, server);
    void call.settled.then(() => this.#unanswered.delete(call));
  }

  /** A server is lost: its calls go to another one if there is one, or else wait for the next connection. */
  #moveFrom(server: ServerConnection): void {
    for (const [call, its] of this.#unanswered) if (its === server) call.lose();
    for (const dialog of this.#dialogs.open) {
      const next = dialog.home === server ? this.#next() : undefined;
      if (next) void dialog.rebind(next);
    }
  }

  #connected(): readonly ServerConnection[] {
    return this.#connections.filter(({ isConnected }) => isConnected);
  }

  #named(wanted: string | null | undefined): ServerConnection | undefined {
    return this.#connected().find(({ name }) => name === wanted);
  }

  #next(): ServerConnection | undefined {
    const connected = this.#connected();
    return connected[this.#turn++ % connected.length];
  }
}
