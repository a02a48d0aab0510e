/**
 * Coordination between control-plane replicas: rate windows, claims and messages. Nothing here is durable:
 * money, idempotency and delivery leases live in the database, and flushing Redis loses at most one rate
 * window. A single replica coordinates in memory; several share a Redis
 * (`shared.ts`). One test suite covers both.
 */
import type { Clock } from '#base/clock.ts';

/** State of a rate window after counting a hit. */
export interface WindowState {
  /** The hit is among the first `limit` of its window. */
  readonly allowed: boolean;
  /** Hits in the window so far, including this one. */
  readonly count: number;
  /** Time until the window ends. */
  readonly resetMs: number;
}

/** Values that can be passed between replicas. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Coordination between replicas. Callers choose the keys; each kind of key has its own namespace. */
export interface Coordination {
  /**
   * Counts a hit in a fixed window aligned to wall time; on this replica alone if Redis is unreachable.
   */
  countInWindow(key: string, limit: number, windowMs: number): Promise<WindowState>;
  /**
   * Claims a key for `ttlMs`; false if it is already claimed. If Redis is unreachable, another replica may
   * claim it too.
   */
  claim(key: string, ttlMs: number): Promise<boolean>;
  /** Keeps a claim of this replica for `ttlMs` from now on. */
  prolong(key: string, ttlMs: number): Promise<void>;
  /**
   * Sends a message to the channel's current subscribers; it reaches only this replica if Redis is
   * unreachable.
   */
  publish(channel: string, message: Json): Promise<void>;
  /**
   * Calls `listener` with each message. Resolves, once subscribed, with a function that unsubscribes. If
   * Redis is unreachable, resolves at once and subscribes when it is back.
   */
  subscribe(channel: string, listener: (message: Json) => void): Promise<() => Promise<void>>;
  /**
   * Calls `listener` whenever messages of other replicas may have been missed, once they arrive again.
   * Returns a function that stops this.
   */
  onGap(listener: () => void): () => void;
  close(): Promise<void>;
}

const SWEEP_MS = 30_000;

/** In-memory coordination for a single replica. */
export function createMemoryCoordination(clock: Clock): Coordination {
  return new MemoryCoordination(clock);
}

interface ExpiringValue {
  value: string;
  expiresMs: number;
}

class MemoryCoordination implements Coordination {
  readonly #clock: Clock;
  readonly #kept = new Map<string, ExpiringValue>();
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

  async prolong(key: string, ttlMs: number): Promise<void> {
    this.#keep(`claim:${key}`, '', ttlMs);
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

  onGap(): () => void {
    return () => undefined;
  }

  async close(): Promise<void> {
    this.#sweep.cancel();
    this.#listeners.clear();
    this.#kept.clear();
  }

  #keep(key: string, value: string, ttlMs: number): void {
    this.#kept.set(key, { value, expiresMs: this.#clock.wallTime() + ttlMs });
  }

  #live(key: string): ExpiringValue | undefined {
    const kept = this.#kept.get(key);
    if (!kept || kept.expiresMs > this.#clock.wallTime()) return kept;
    this.#kept.delete(key);
    return undefined;
  }
}
