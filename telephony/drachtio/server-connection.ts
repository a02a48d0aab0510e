/** The connection of a worker to one SIP server, kept open for as long as the worker runs. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import Srf from 'drachtio-srf';
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { hostPort } from '#base/public-address.ts';
import { ConnectionLost, isRefused } from './errors.ts';

/** Where applications connect to a SIP server. */
export interface SipServerAddress {
  readonly host: string;
  readonly port: number;
}

/** How to reach the SIP servers. */
export interface ConnectionOptions {
  readonly secret: string;
  /** Admission routes calls to this worker by its tag; at most 32 letters, digits and `-_+@:`. */
  readonly tag: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Longest pause between attempts to reconnect: without signalling a worker takes no phone calls. */
const RECONNECT_MAX_MS = 1_000;
/** End of the version of the embedded server. */
const EMBEDDED = '-parley';
/** Interval of pings. So many without a word from the server mean that it is lost, whatever TCP says. */
const PING_MS = 1_000;
const SILENT_PINGS = 4;
/** The same for the only server: its ringing calls end with the connection, and have nowhere else to go. */
const SILENT_PINGS_OF_ONLY = 30;
/** Earlier drachtio-servers close the connection on a ping. */
const PINGABLE = [0, 8, 2] as const;

/** The parts of drachtio-srf's agent that its types omit. */
interface Agent {
  readonly mapServer: ReadonlyMap<Socket, unknown>;
  readonly wp: { readonly socket?: Socket; send(socket: Socket, text: string): void };
}

/** One server. */
export class ServerConnection {
  /** `host:port`, as in the worker's settings. */
  readonly name: string;
  readonly srf: Srf;
  readonly #options: ConnectionOptions;
  /** drachtio-srf reads these options at every lost connection. */
  readonly #reconnect: { readonly retryMaxDelay: number; maxAttempts?: number } = {
    retryMaxDelay: RECONNECT_MAX_MS,
  };
  #isConnected = false;
  #isEmbedded = false;
  #knowsPing = false;
  /** Dialogs to forget once it is connected again. */
  #forgotten: string[] = [];
  #watch: Timer | null = null;
  /** Reject what waits for an answer of the server. */
  readonly #waiting = new Set<(error: Error) => void>();

  constructor(address: SipServerAddress, options: ConnectionOptions) {
    this.name = hostPort(address.host, address.port);
    this.srf = new Srf(options.tag);
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** True for the embedded server, as of its last connection: it knows more than drachtio's protocol. */
  get isEmbedded(): boolean {
    return this.#isEmbedded;
  }

  /**
   * Connects, and reconnects until it is closed; `onUp` and `onDown` are called for each connection,
   * `onRefused` for each attempt that finds no process at the address. No other server is connected if
   * `isOnly`.
   */
  open(
    address: SipServerAddress,
    on: { onUp(): void; onDown(): void; onRefused(): void; isOnly(): boolean },
  ): void {
    const { logger, secret } = this.#options;
    const about = { server: this.name };
    const lost = (error?: unknown) => {
      if (!this.#isConnected) return;
      logger.warn({ ...about, err: error }, 'the connection to the SIP server was lost; reconnecting');
      this.#isConnected = false;
      this.#knowsPing = false;
      for (const reject of this.#waiting) reject(new ConnectionLost());
      on.onDown();
    };
    this.srf.on(
      'connect' as 'disconnect',
      ((error: unknown, _address: unknown, version: unknown) => {
        if (error) {
          logger.error({ ...about, err: error }, 'the SIP server refused the connection');
          return;
        }
        logger.info(about, 'connected to the SIP server');
        this.#isConnected = true;
        this.#isEmbedded = String(version).endsWith(EMBEDDED);
        this.#knowsPing = isAtLeast(String(version), PINGABLE);
        this.#sendForgotten();
        on.onUp();
      }) as never,
    );
    this.srf.on('error', (error: unknown) => {
      if (isRefused(error)) on.onRefused();
      lost(error);
    });
    this.srf.on('close' as 'disconnect', () => lost());
    const first = socketOf(() => {
      void this.srf.connect({ ...address, secret, reconnect: this.#reconnect } as Parameters<
        Srf['connect']
      >[0]);
    });
    this.#watch = this.#options.clock.every(PING_MS, this.#watchdog(first, on.isOnly));
  }

  /** Resolves with what the server answers; rejects with `ConnectionLost` when the connection breaks. */
  async whileConnected<T>(answer: Promise<T>): Promise<T> {
    const { promise: lost, reject } = Promise.withResolvers<never>();
    this.#waiting.add(reject);
    if (!this.#isConnected) reject(new ConnectionLost());
    try {
      return await Promise.race([answer, lost]);
    } finally {
      this.#waiting.delete(reject);
    }
  }

  close(): void {
    this.#watch?.cancel();
    this.#reconnect.maxAttempts = 1;
    // drachtio-srf throws if there is no connection to close.
    if (this.#isConnected) this.srf.disconnect();
    this.#isConnected = false;
  }

  /**
   * Tells the server that it no longer has this dialog, now or when it is connected again, so that it does
   * not hang up. drachtio-server has no such command, and does not hang up.
   */
  forget(dialog: Srf.Dialog): void {
    const { id } = dialog as unknown as { readonly id: string };
    (this.srf as unknown as { removeDialog(dialog: Srf.Dialog): void }).removeDialog(dialog);
    this.#forgotten.push(id);
    if (this.#isConnected) this.#sendForgotten();
  }

  #sendForgotten(): void {
    const { agent, socket } = this.#wire();
    for (const id of this.#forgotten.splice(0))
      if (this.#isEmbedded && socket) agent.wp.send(socket, `forget|${id}`);
  }

  /**
   * Pings the server, and breaks a connection on which nothing arrives, or that is not made. Counts pings
   * instead of time, so that a worker whose event loop was late does not blame the server.
   */
  #watchdog(first: Socket | null, isOnly: () => boolean): () => void {
    let watched: Socket | null = null;
    let unanswered = 0;
    return () => {
      const { agent, socket } = this.#wire();
      const current = socket ?? agent.wp.socket ?? first;
      if (current !== watched) {
        watched = current;
        unanswered = 0;
        watched?.on('data', () => {
          unanswered = 0;
        });
      }
      if (watched === null || watched.destroyed) return;
      if (unanswered >= this.#mostUnanswered(isOnly)) watched.destroy();
      else if (this.#knowsPing && socket) agent.wp.send(socket, 'ping');
      unanswered += 1;
    };
  }

  #mostUnanswered(isOnly: () => boolean): number {
    if (!this.#isConnected) return SILENT_PINGS;
    // A server that cannot be asked says nothing while there are no calls.
    if (!this.#knowsPing) return Number.POSITIVE_INFINITY;
    return isOnly() ? SILENT_PINGS_OF_ONLY : SILENT_PINGS;
  }

  #wire(): { readonly agent: Agent; readonly socket: Socket | undefined } {
    const { app } = this.srf as unknown as { readonly app: { readonly client: Agent } };
    const { client } = app;
    return { agent: client, socket: client.mapServer.keys().next().value };
  }
}

/** The socket that `connect` opens; drachtio-srf keeps that of its first attempt to itself. */
function socketOf(connect: () => void): Socket | null {
  let opened: Socket | null = null;
  const note = (message: unknown) => {
    opened = (message as { readonly socket: Socket }).socket;
  };
  subscribe('net.client.socket', note);
  try {
    connect();
  } finally {
    unsubscribe('net.client.socket', note);
  }
  return opened;
}

/** Compares a version like `v0.9.4-rc2`; one that cannot be read is too old. */
function isAtLeast(version: string, least: readonly number[]): boolean {
  const parts = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number) ?? [-1];
  const differing = least.findIndex((part, index) => part !== parts[index]);
  return differing < 0 || (parts[differing] ?? -1) > (least[differing] ?? 0);
}
