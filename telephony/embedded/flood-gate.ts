/** Limits the requests of one source by a token bucket per address; requests above the limit are dropped. */
import type { Clock } from '#base/clock.ts';
import { type Allowance, TokenBucket } from '#base/token-bucket.ts';

const REQUESTS: Allowance = { perSecond: 200, burst: 1_200 };
/** Answers to our own requests: many calls may be moved at once through one proxy. */
export const ANSWERS: Allowance = { perSecond: 4_000, burst: 12_000 };
const MAX_SOURCES = 20_000;

/** One bucket per address. */
export class FloodGate {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, TokenBucket>();

  readonly #allowance: Allowance;

  constructor(clock: Clock, allowance: Allowance = REQUESTS) {
    this.#clock = clock;
    this.#allowance = allowance;
  }

  /** Returns false if the request must be dropped without an answer. */
  lets(address: string): boolean {
    const bucket = this.#buckets.get(address) ?? this.#open(address);
    return bucket.tryTake(1);
  }

  #open(address: string): TokenBucket {
    // Empties a full table of one-time sources instead of growing it.
    if (this.#buckets.size >= MAX_SOURCES) this.#buckets.clear();
    const bucket = new TokenBucket(this.#clock, this.#allowance);
    this.#buckets.set(address, bucket);
    return bucket;
  }
}
