/**
 * The open connections of SIP over TCP and TLS, and which of them must go: strangers who say nothing, or half
 * a message, cannot keep others out. Connections that others opened are limited per address; when all places
 * are taken, the one that was silent for longest makes room.
 */
import type { Socket } from 'node:net';
import type { Clock, Timer } from '#base/clock.ts';
import { networkOf } from '#base/network-of.ts';
import { LIMITS } from '#config/limits.ts';

/** How many connections there may be, and how long one may say nothing. */
export interface ConnectionLimits {
  readonly sipConnections: number;
  /** Opened from one IPv4 address or one IPv6 /64. */
  readonly sipConnectionsPerAddress: number;
  /** From the opening to the first whole message, and from the first byte of any message to its last. */
  readonly sipMessageMs: number;
  readonly sipIdleMs: number;
}

/** What is known of a connection. */
interface Held {
  readonly socket: Socket;
  /** Null: it is of our own making. */
  readonly network: string | null;
  /** Since when a message has been waited for that must come; null while none must. */
  awaitedSinceMs: number | null;
  activeMs: number;
}

const SWEEP_MS = 1_000;

export class Connections {
  readonly #clock: Clock;
  readonly #limits: ConnectionLimits;
  /** Those that were silent for longest come first. */
  readonly #held = new Map<string, Held>();
  readonly #perNetwork = new Map<string, number>();
  /** Runs while there is a connection. */
  #sweep: Timer | null = null;

  constructor(clock: Clock, limits: ConnectionLimits = LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Takes in a connection somebody else has opened; one too many of its address is closed at once, and false.
   */
  admit(key: string, socket: Socket, address: string): boolean {
    // Reset before it was taken in: nobody is there.
    if (address === '') {
      socket.destroy();
      return false;
    }
    const network = networkOf(address);
    const ofNetwork = this.#perNetwork.get(network) ?? 0;
    if (ofNetwork >= this.#limits.sipConnectionsPerAddress) {
      socket.destroy();
      return false;
    }
    this.#makeRoom();
    this.#perNetwork.set(network, ofNetwork + 1);
    this.#hold(key, { socket, network, awaitedSinceMs: this.#clock.now(), activeMs: this.#clock.now() });
    return true;
  }

  /** Takes in a connection of our own. */
  add(key: string, socket: Socket): void {
    this.#makeRoom();
    this.#hold(key, { socket, network: null, awaitedSinceMs: null, activeMs: this.#clock.now() });
  }

  /** Something is sent by it, or a whole message has come: it is in use. */
  used(key: string): void {
    const held = this.#held.get(key);
    if (!held) return;
    held.activeMs = this.#clock.now();
    this.#held.delete(key);
    this.#held.set(key, held);
  }

  /** Something has come: a whole message that makes sense or none, and whether another one has begun. */
  heard(key: string, of: { readonly isWhole: boolean; readonly isPartial: boolean }): void {
    const held = this.#held.get(key);
    if (!held) return;
    if (of.isWhole) {
      held.awaitedSinceMs = null;
      this.used(key);
    }
    if (of.isPartial) held.awaitedSinceMs ??= this.#clock.now();
  }

  close(): void {
    for (const [key, held] of this.#held) this.#end(key, held);
  }

  #hold(key: string, held: Held): void {
    // Whoever opens a connection from the same port has lost the one before, whether or not we have heard of
    // it.
    const before = this.#held.get(key);
    if (before) this.#end(key, before);
    this.#held.set(key, held);
    this.#sweep ??= this.#clock.every(SWEEP_MS, () => this.#closeOverdue());
    held.socket.on('error', () => undefined);
    held.socket.once('close', () => this.#forget(key, held));
  }

  #forget(key: string, held: Held): void {
    if (this.#held.get(key) !== held) return;
    this.#held.delete(key);
    if (this.#held.size === 0) {
      this.#sweep?.cancel();
      this.#sweep = null;
    }
    if (held.network === null) return;
    const left = (this.#perNetwork.get(held.network) ?? 1) - 1;
    if (left > 0) this.#perNetwork.set(held.network, left);
    else this.#perNetwork.delete(held.network);
  }

  /**
   * One that has not said a whole message goes first, then the one that was silent for longest: one of our
   * own is opened again when it is needed.
   */
  #makeRoom(): void {
    if (this.#held.size < this.#limits.sipConnections) return;
    const all = [...this.#held];
    const idlest = all.find(([, { awaitedSinceMs }]) => awaitedSinceMs !== null) ?? all[0];
    if (idlest) this.#end(...idlest);
  }

  #closeOverdue(): void {
    const nowMs = this.#clock.now();
    for (const [key, held] of this.#held) {
      const { awaitedSinceMs, activeMs } = held;
      const isLate = awaitedSinceMs !== null && nowMs - awaitedSinceMs >= this.#limits.sipMessageMs;
      if (isLate || nowMs - activeMs >= this.#limits.sipIdleMs) this.#end(key, held);
    }
  }

  #end(key: string, held: Held): void {
    this.#forget(key, held);
    held.socket.destroy();
  }
}
