/**
 * Limits the rate of refusals per account, or per address for unknown clients: a client that sends only
 * garbage occupies a connection, not the event loop. Other answers are never delayed here.
 */

import { networkOf } from '#base/client-network.ts';
import type { Clock } from '#base/clock.ts';
import { TokenBuckets } from '#base/token-buckets.ts';

/** Seconds' worth of refusals sent without delay. */
const BURST_SECONDS = 4;
/** Seconds' worth of refusals that may wait; beyond that, connections are closed. */
const WAIT_SECONDS = 10;

/**
 * Weight of a refused call: it costs the store several reads and signalling a transaction, as much as this
 * many refused requests.
 */
const CALL_COST = 10;
/** Slightly less than signalling waits for an answer. */
const CALL_WAIT_MS = 2_000;

/** Limits the rate of one process's refusals. */
export class Refusals {
  readonly #clock: Pick<Clock, 'now' | 'sleep'>;
  readonly #perSecond: number;
  readonly #buckets: TokenBuckets;

  /** `perSecond` is the number of refusals per client and second; Infinity means no limit. */
  constructor(clock: Pick<Clock, 'now' | 'sleep'>, perSecond: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#buckets = new TokenBuckets(clock, { perSecond, burst: BURST_SECONDS * perSecond });
  }

  /** Number of clients tracked. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Like `take`, for the network of an address. */
  takeFor(address: string): Promise<boolean> | null {
    return this.take(networkOf(address));
  }

  /**
   * Null if `client` may be refused now. Otherwise resolves when it may, or immediately with false if too
   * many refusals wait, in which case the connection should be closed.
   */
  take(client: string): Promise<boolean> | null {
    return this.#take(client, 1, WAIT_SECONDS * 1_000);
  }

  /** Resolves when a call from `client` may be refused; immediately if too many refusals wait. */
  async throttleCall(client: string): Promise<void> {
    await this.#take(`call ${client}`, CALL_COST, CALL_WAIT_MS);
  }

  #take(client: string, cost: number, mostMs: number): Promise<boolean> | null {
    if (this.#perSecond === Number.POSITIVE_INFINITY) return null;
    const bucket = this.#buckets.of(client);
    const waitMs = bucket.waitMs(cost);
    if (waitMs > mostMs) return Promise.resolve(false);
    bucket.take(cost);
    return waitMs === 0 ? null : this.#clock.sleep(waitMs).then(() => true);
  }
}
