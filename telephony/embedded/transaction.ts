/**
 * The four transaction state machines of RFC 3261 §17, and the 2xx retransmission of §13.3.1.4: what is
 * retransmitted, until when, and which retransmissions are absorbed. Clock and sender are handed in.
 */
import { randomInt, randomUUID } from 'node:crypto';
import type { Clock, Timer } from '#base/clock.ts';
import type { SipMessage } from './message.ts';
import type { Peer } from './transport.ts';

/** RFC 3261 §17.1.1.1, ms. */
const T1_MS = 500;
const T2_MS = 4_000;
/** Timers B, F and H, and how long a finished transaction absorbs retransmissions. */
export const TRANSACTION_MS = 64 * T1_MS;

/** What transactions need. */
export interface TransactionDeps {
  readonly clock: Clock;
  send(text: string, peer: Peer): void;
}

/** Events of a received request. */
export interface ServerHooks {
  /** The ACK of a 2xx did not arrive. */
  onAckTimeout(): void;
  /** The PRACK of a reliable provisional response did not arrive. */
  onPrackTimeout(): void;
  /** No final response and no ringing was sent in time; the sender has given up or waits in vain. */
  onUnanswered(): void;
  onDone(): void;
}

/** A received request. */
export class ServerTransaction {
  /** Identifies the transaction to the application. */
  readonly id = randomUUID();
  readonly key: string;
  readonly request: SipMessage;
  readonly method: string;
  readonly peer: Peer;
  /** Status of the last response sent; 0 before the first. */
  status = 0;
  readonly #deps: TransactionDeps;
  readonly #hooks: ServerHooks;
  /** Counts reliable provisional responses (RFC 3262 §3). */
  rseq = randomInt(1, 2 ** 30);
  #lastResponse: string | null = null;
  #retransmission: Timer | null = null;
  #end: Timer | null = null;

  constructor(
    deps: TransactionDeps,
    request: {
      readonly key: string;
      readonly message: SipMessage;
      readonly method: string;
      readonly peer: Peer;
    },
    hooks: ServerHooks,
  ) {
    this.#deps = deps;
    this.#hooks = hooks;
    this.key = request.key;
    this.request = request.message;
    this.method = request.method;
    this.peer = request.peer;
    this.#end = deps.clock.after(TRANSACTION_MS, () => {
      if (this.method !== 'INVITE' || this.status <= 100) hooks.onUnanswered();
    });
  }

  get isFinal(): boolean {
    return this.status >= 200;
  }

  /** Sends a response; repeats a final one to an INVITE until its ACK, for at most 32 s. */
  respond(status: number, text: string): void {
    if (this.isFinal) return;
    this.status = status;
    this.#lastResponse = text;
    this.#deps.send(text, this.peer);
    // A later response replaces a reliable one that is still being repeated.
    this.acknowledge();
    if (status < 200) return;
    this.#end?.cancel();
    if (this.method === 'INVITE') this.#retransmit(T1_MS);
    this.#end = this.#deps.clock.after(TRANSACTION_MS, () => {
      const isUnacknowledged = this.#retransmission !== null && status < 300;
      this.close();
      if (isUnacknowledged) this.#hooks.onAckTimeout();
      this.#hooks.onDone();
    });
  }

  /** Repeats a provisional response until its PRACK, for at most 32 s (RFC 3262 §3). */
  respondReliably(status: number, text: string): void {
    this.respond(status, text);
    const sendAgain = (ms: number, sinceMs: number) => {
      this.#retransmission = this.#deps.clock.after(ms, () => {
        if (sinceMs + ms >= TRANSACTION_MS) {
          this.acknowledge();
          this.#hooks.onPrackTimeout();
          return;
        }
        this.receiveAgain();
        sendAgain(ms * 2, sinceMs + ms);
      });
    };
    if (!this.isFinal) sendAgain(T1_MS, 0);
  }

  /** Handles a retransmission of the request. */
  receiveAgain(): void {
    if (this.#lastResponse !== null) this.#deps.send(this.#lastResponse, this.peer);
  }

  /** The ACK or PRACK arrived: stops repeating. */
  acknowledge(): void {
    this.#retransmission?.cancel();
    this.#retransmission = null;
  }

  close(): void {
    this.acknowledge();
    this.#end?.cancel();
  }

  #retransmit(ms: number): void {
    // A reliable transport needs a refusal only once; a 2xx is repeated on any transport, because its ACK is
    // end to end.
    if (this.peer.transport !== 'udp' && this.status >= 300) return;
    this.#retransmission = this.#deps.clock.after(ms, () => {
      this.receiveAgain();
      this.#retransmit(Math.min(ms * 2, T2_MS));
    });
  }
}

/** Events of a sent request. */
export interface ClientHooks {
  /**
   * There is no response: none arrived in time (408), or the request could not be sent (503; RFC 3261
   * §8.1.3.1).
   */
  onFailed(status: 408 | 503): void;
  onDone(): void;
}

/** A sent request. */
export class ClientTransaction {
  readonly id = randomUUID();
  /** Branch and method, which its responses repeat. */
  readonly key: string;
  readonly request: SipMessage;
  readonly method: string;
  readonly peer: Peer;
  state: 'calling' | 'proceeding' | 'completed' = 'calling';
  readonly #deps: TransactionDeps;
  readonly #text: string;
  readonly #hooks: ClientHooks;
  #retransmission: Timer | null = null;
  #limit: Timer | null = null;
  #onProvisional: (() => void) | null = null;
  #ack: { readonly text: string; readonly peer: Peer } | null = null;
  /** ACKs of further answers beside the accepted one, by the tag of their sender. */
  readonly otherAcks = new Map<string, string>();

  constructor(
    deps: TransactionDeps,
    request: {
      readonly key: string;
      readonly message: SipMessage;
      readonly text: string;
      readonly method: string;
      readonly peer: Peer;
    },
    hooks: ClientHooks,
  ) {
    this.#deps = deps;
    this.#hooks = hooks;
    this.key = request.key;
    this.request = request.message;
    this.#text = request.text;
    this.method = request.method;
    this.peer = request.peer;
  }

  /** Sends the request and repeats it until a response arrives, for at most 32 s. */
  start(): void {
    this.#deps.send(this.#text, this.peer);
    if (this.peer.transport === 'udp') this.#retransmit(T1_MS);
    this.#limit = this.#deps.clock.after(TRANSACTION_MS, () => {
      if (this.state === 'completed' || (this.method === 'INVITE' && this.state === 'proceeding')) return;
      this.#fail(408);
    });
  }

  /** The peer cannot be reached. */
  unreachable(): void {
    if (this.state === 'calling') this.#fail(503);
  }

  /** Calls back once a provisional response has arrived: CANCEL must not be sent earlier (RFC 3261 §9.1). */
  whenProceeding(callback: () => void): void {
    if (this.state === 'proceeding') callback();
    else if (this.state === 'calling') this.#onProvisional = callback;
  }

  /** Its CANCEL was sent: without an answer within 32 s none will come (RFC 3261 §9.1). */
  cancelled(): void {
    this.#limit?.cancel();
    this.#limit = this.#deps.clock.after(TRANSACTION_MS, () => {
      if (this.state !== 'completed') this.#fail(408);
    });
  }

  /** Handles a response. True if it is new to the application. */
  receive(status: number): boolean {
    if (this.state === 'completed') {
      if (this.#ack) this.#deps.send(this.#ack.text, this.#ack.peer);
      return false;
    }
    if (status < 200) {
      if (this.state === 'calling') {
        this.state = 'proceeding';
        if (this.method === 'INVITE') this.#retransmission?.cancel();
        this.#onProvisional?.();
        this.#onProvisional = null;
      }
      return true;
    }
    this.#complete();
    return true;
  }

  /** Sends the ACK of a final response, and repeats it whenever that response is repeated. */
  acknowledge(ack: string, peer: Peer = this.peer): void {
    this.#ack = { text: ack, peer };
    this.#deps.send(ack, peer);
  }

  close(): void {
    this.#retransmission?.cancel();
    this.#limit?.cancel();
  }

  #fail(status: 408 | 503): void {
    this.#complete();
    this.#hooks.onFailed(status);
  }

  #complete(): void {
    this.state = 'completed';
    this.close();
    this.#limit = this.#deps.clock.after(TRANSACTION_MS, () => this.#hooks.onDone());
  }

  #retransmit(ms: number): void {
    this.#retransmission = this.#deps.clock.after(ms, () => {
      this.#deps.send(this.#text, this.peer);
      this.#retransmit(this.method === 'INVITE' ? ms * 2 : Math.min(ms * 2, T2_MS));
    });
  }
}
