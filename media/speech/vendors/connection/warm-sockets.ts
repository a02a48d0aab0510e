/**
 * Sockets for one synthesis each, opened in advance: when a call is announced, and whenever one is taken, so
 * that no text waits for a handshake. An unused spare is closed before the vendor closes it.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { VendorSocket } from './vendor-socket.ts';

/** Options of the spares. */
export interface WarmSocketsOptions {
  readonly clock: Clock;
  readonly connect: (url: URL) => VendorSocket;
  /** A spare unused for this long is closed, ms. */
  readonly idleMs: number;
}

/** A socket and what its user must know. */
export interface TakenSocket {
  readonly socket: VendorSocket;
  /** It may have died unnoticed: a failure before its first message is not one of the vendor. */
  readonly wasSpare: boolean;
  /** Texts that the vendor sent before the socket was taken, in order. */
  readonly early: readonly string[];
}

/** Most texts kept of a spare, and characters in them: a greeting. */
const MAX_EARLY = 8;
const MAX_EARLY_CHARS = 16_384;
/** Most combinations of voice and rate with spares; beyond it the oldest goes. */
const MAX_SPARES = 32;

/** The spares of one engine, one per address. */
export class WarmSockets {
  readonly #options: WarmSocketsOptions;
  readonly #spares = new Map<
    string,
    { readonly socket: VendorSocket; readonly early: readonly string[]; readonly expiry: Timer }
  >();
  #isClosed = false;

  constructor(options: WarmSocketsOptions) {
    this.#options = options;
  }

  /** Takes a socket to this address, already open if one was used recently. */
  take(url: URL): TakenSocket {
    const spare = this.#spares.get(url.href);
    this.#forget(url.href);
    const taken = spare ? { socket: spare.socket, wasSpare: true, early: spare.early } : this.fresh(url);
    this.prepare(url);
    return taken;
  }

  /** Opens a spare to this address if there is none. */
  prepare(url: URL): void {
    if (this.#isClosed || this.#spares.has(url.href)) return;
    const oldest = this.#spares.keys().next().value;
    if (this.#spares.size >= MAX_SPARES && oldest !== undefined) this.#discard(oldest);
    const socket = this.#options.connect(url);
    const expiry = this.#options.clock.after(this.#options.idleMs, () => this.#discard(url.href));
    const early: string[] = [];
    let leftChars = MAX_EARLY_CHARS;
    const onText = (text: string) => {
      leftChars -= text.length;
      if (early.length < MAX_EARLY && leftChars >= 0) early.push(text);
    };
    socket.listener = { onText, onFailed: () => this.#forget(url.href) };
    this.#spares.set(url.href, { socket, early, expiry });
  }

  /** A socket that was never a spare. */
  fresh(url: URL): TakenSocket {
    return { socket: this.#options.connect(url), wasSpare: false, early: [] };
  }

  close(): void {
    this.#isClosed = true;
    for (const key of [...this.#spares.keys()]) this.#discard(key);
  }

  #discard(key: string): void {
    this.#spares.get(key)?.socket.close();
    this.#forget(key);
  }

  #forget(key: string): void {
    this.#spares.get(key)?.expiry.cancel();
    this.#spares.delete(key);
  }
}
