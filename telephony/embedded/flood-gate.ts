/**
 * Limits what one source may send: a bucket of requests per address that refills with time; beyond it a
 * source gets nothing.
 */
import type { Clock } from '#base/clock.ts';
import { TokenBucket } from '#base/token-bucket.ts';

const REQUESTS = { perSecond: 400, burst: 1_200 };
const MAX_SOURCES = 20_000;

/** One bucket per address. */
export class FloodGate {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** False: drop it without an answer. */
  lets(address: string): boolean {
    const bucket = this.#buckets.get(address) ?? this.#open(address);
    if (!bucket.has(1)) return false;
    bucket.take(1);
    return true;
  }

  #open(address: string): TokenBucket {
    // A table full of one-time sources is emptied rather than grown.
    if (this.#buckets.size >= MAX_SOURCES) this.#buckets.clear();
    const bucket = new TokenBucket(this.#clock, REQUESTS);
    this.#buckets.set(address, bucket);
    return bucket;
  }
}
