/**
 * Coordination between the replicas of the control plane: rate windows, claims, presence, messages. Nothing
 * durable: money, idempotency and delivery leases live in the database, and a flushed Redis loses at most one
 * rate window and one heartbeat of presence. One replica coordinates with itself in memory; more than one
 * share a Redis (`shared.ts`). One test suite runs against both.
 */
import type { Clock } from '#base/clock.ts';

/** State of a rate window after one more was counted. */
export interface WindowState {
  /** What was counted is among the first `limit` of its window. */
  readonly allowed: boolean;
  /** Hits of the window so far, this one included. */
  readonly count: number;
  /** Until the window ends. */
  readonly resetMs: number;
}

/** What can be passed between replicas. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Coordination between replicas. Keys are chosen by the caller; each kind has a name space of its own. */
export interface Coordination {
  /** Counts one in a fixed window aligned to wall time. Allows it when the shared store cannot be reached. */
  countInWindow(key: string, limit: number, windowMs: number): Promise<WindowState>;
  /** Claims a key for a while; false while somebody has. */
  claim(key: string, ttlMs: number): Promise<boolean>;
  /** Makes a value known to every replica for a while. */
  announce(key: string, value: Json, ttlMs: number): Promise<void>;
  /** What was announced, or null when it has expired. */
  find(key: string): Promise<Json>;
  /** Withdraws what was announced. */
  withdraw(key: string): Promise<void>;
  /** Sends a message to everyone subscribed to the channel at this moment. */
  publish(channel: string, message: Json): Promise<void>;
  /** Calls `listener` with each message; resolves with the end of the subscription once it holds. */
  subscribe(channel: string, listener: (message: Json) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

const SWEEP_MS = 30_000;

/** Coordination of a single replica with itself. */
export function createMemoryCoordination(clock: Clock): Coordination {
  return new MemoryCoordination(clock);
}

interface Kept {
  value: string;
  expiresMs: number;
}

class MemoryCoordination implements Coordination {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  readonly #listeners = new Map<string, Set<(message: Json) => void>>();
  readonly #sweep;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sweep = clock.every(SWEEP_MS, () => {
      for (const key of this.#kept.keys()) this.#live(key);
    });
  }

  async countInWindow(key: string, limit: number, windowMs: number): Promise<WindowState> {
    const nowMs = this.#clock.wallTime();
    const window = Math.floor(nowMs / windowMs);
    const name = `window:${key}:${window}`;
    const endsMs = (window + 1) * windowMs;
    const count = Number(this.#live(name)?.value ?? 0) + 1;
    this.#kept.set(name, { value: String(count), expiresMs: endsMs });
    return { allowed: count <= limit, count, resetMs: endsMs - nowMs };
  }

  async claim(key: string, ttlMs: number): Promise<boolean> {
    if (this.#live(`claim:${key}`)) return false;
    this.#keep(`claim:${key}`, '', ttlMs);
    return true;
  }

  async announce(key: string, value: Json, ttlMs: number): Promise<void> {
    this.#keep(`value:${key}`, JSON.stringify(value), ttlMs);
  }

  async find(key: string): Promise<Json> {
    const kept = this.#live(`value:${key}`);
    return kept ? (JSON.parse(kept.value) as Json) : null;
  }

  async withdraw(key: string): Promise<void> {
    this.#kept.delete(`value:${key}`);
  }

  async publish(channel: string, message: Json): Promise<void> {
    const text = JSON.stringify(message);
    for (const listener of this.#listeners.get(channel) ?? [])
      queueMicrotask(() => listener(JSON.parse(text) as Json));
  }

  async subscribe(channel: string, listener: (message: Json) => void): Promise<() => Promise<void>> {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    return async () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(channel);
    };
  }

  async close(): Promise<void> {
    this.#sweep.cancel();
    this.#listeners.clear();
    this.#kept.clear();
  }

  #keep(key: string, value: string, ttlMs: number): void {
    this.#kept.set(key, { value, expiresMs: this.#clock.wallTime() + ttlMs });
  }

  #live(key: string): Kept | undefined {
    const kept = this.#kept.get(key);
    if (!kept || kept.expiresMs > this.#clock.wallTime()) return kept;
    this.#kept.delete(key);
    return undefined;
  }
}
