/**
 * The open connections of SIP over TCP and TLS, and which of them to close, so that idle strangers cannot
 * keep others out. Connections opened by peers are limited per address; when all places are taken, the one
 * idle for longest of those that owe a message is closed, or else the one idle for longest.
 */
import type { Socket } from 'node:net';
import { networkOf } from '#base/client-network.ts';
import type { Clock, Timer } from '#base/clock.ts';
import { LIMITS } from '#config/limits.ts';

/** Maximum number of connections, and how long one may be idle. */
export interface ConnectionLimits {
  readonly sipConnections: number;
  /** Maximum for one IPv4 address or one IPv6 /64. */
  readonly sipConnectionsPerAddress: number;
  /**
   * Applies from the first byte of a message to its last; for a connection opened by a peer, also from the
   * opening to the first whole message.
   */
  readonly sipMessageMs: number;
  readonly sipIdleMs: number;
}

/** State of one connection. */
interface Connection {
  readonly socket: Socket;
  /** Null: opened by this server. */
  readonly network: string | null;
  /** Since when a message has been due; null if none is. */
  awaitedSinceMs: number | null;
  activeMs: number;
}

const SWEEP_MS = 1_000;

/** The connections of one server, by peer. */
export class Connections {
  readonly #clock: Clock;
  readonly #limits: ConnectionLimits;
  /** In order of last use, oldest first. */
  readonly #held = new Map<string, Connection>();
  readonly #perNetwork = new Map<string, number>();
  /** Runs while there are connections. */
  #sweep: Timer | null = null;

  constructor(clock: Clock, limits: ConnectionLimits = LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Adds a connection opened by a peer. Returns false if the peer's address has too many, or if it is
   * already gone; the connection is then closed.
   */
  admit(key: string, socket: Socket, address: string): boolean {
    // The peer reset it before it was added.
    if (address === '') {
      socket.destroy();
      return false;
    }
    const network = networkOf(address);
    if (this.#countOf(network) >= this.#limits.sipConnectionsPerAddress) {
      socket.destroy();
      return false;
    }
    this.#makeRoom();
    // Counted after making room, which may have closed a connection of the same address.
    this.#perNetwork.set(network, this.#countOf(network) + 1);
    this.#hold(key, { socket, network, awaitedSinceMs: this.#clock.now(), activeMs: this.#clock.now() });
    return true;
  }

  /** Adds a connection opened by this server. */
  add(key: string, socket: Socket): void {
    this.#makeRoom();
    this.#hold(key, { socket, network: null, awaitedSinceMs: null, activeMs: this.#clock.now() });
  }

  /** Marks a connection as in use: something was sent, or a whole message arrived. */
  used(key: string): void {
    const held = this.#held.get(key);
    if (!held) return;
    held.activeMs = this.#clock.now();
    this.#held.delete(key);
    this.#held.set(key, held);
  }

  /** Notes data that arrived: `isWhole` if it completed a valid message, `isPartial` if another has begun. */
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

  #hold(key: string, held: Connection): void {
    // A peer that connects again from the same port has lost the earlier connection, even if its end was not
    // reported.
    const before = this.#held.get(key);
    if (before) this.#end(key, before);
    this.#held.set(key, held);
    this.#sweep ??= this.#clock.every(SWEEP_MS, () => this.#closeOverdue());
    held.socket.on('error', () => undefined);
    held.socket.once('close', () => this.#forget(key, held));
  }

  #forget(key: string, held: Connection): void {
    if (this.#held.get(key) !== held) return;
    this.#held.delete(key);
    if (this.#held.size === 0) {
      this.#sweep?.cancel();
      this.#sweep = null;
    }
    if (held.network === null) return;
    const left = this.#countOf(held.network) - 1;
    if (left > 0) this.#perNetwork.set(held.network, left);
    else this.#perNetwork.delete(held.network);
  }

  /**
   * Closes the longest-idle connection from which a message is due, or else the longest-idle of all, even one
   * of ours, because ours are reopened when needed.
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

  #countOf(network: string): number {
    return this.#perNetwork.get(network) ?? 0;
  }

  #end(key: string, held: Connection): void {
    this.#forget(key, held);
    held.socket.destroy();
  }
}
