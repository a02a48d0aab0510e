/** Token buckets by client; full buckets are dropped. */
import type { Clock } from './clock.ts';
import { type Allowance, TokenBucket } from './token-bucket.ts';

/** Buckets by client. */
export class TokenBuckets {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #allowance: Allowance;
  /** Least recently used first. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(clock: Pick<Clock, 'now'>, allowance: Allowance) {
    this.#clock = clock;
    this.#allowance = allowance;
  }

  /** Number of clients tracked. */
  get size(): number {
    return this.#buckets.size;
  }

  /** The bucket of a client. A full one equals a new one, so it need not be kept. */
  of(client: string): TokenBucket {
    const bucket = this.#buckets.get(client) ?? new TokenBucket(this.#clock, this.#allowance);
    this.#buckets.delete(client);
    for (const [other, otherBucket] of this.#buckets) {
      if (!otherBucket.has(this.#allowance.burst)) break;
      this.#buckets.delete(other);
    }
    this.#buckets.set(client, bucket);
    return bucket;
  }
}
