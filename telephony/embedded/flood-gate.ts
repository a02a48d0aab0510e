/** Limits what one source may send: a bucket of requests per address that refills with time; beyond it a source gets nothing. */
import type { Clock } from '#config/clock.ts';

const REFILL_PER_SECOND = 400;
const BURST = 1_200;
const MAX_SOURCES = 20_000;

/** One bucket per address. */
export class FloodGate {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** False: drop it without an answer. */
  lets(address: string): boolean {
    const now = this.#clock.now();
    const bucket = this.#buckets.get(address);
    if (!bucket) {
      // A table full of one-time sources is emptied rather than grown.
      if (this.#buckets.size >= MAX_SOURCES) this.#buckets.clear();
      this.#buckets.set(address, { tokens: BURST - 1, atMs: now });
      return true;
    }
    bucket.tokens = Math.min(BURST, bucket.tokens + ((now - bucket.atMs) * REFILL_PER_SECOND) / 1000);
    bucket.atMs = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }
}
