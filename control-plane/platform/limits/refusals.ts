/**
 * Refusals go out at a limited pace to each address, or to each account that is known: a client that sends
 * nothing but garbage takes a connection, not the event loop. Answers other than refusals never wait here.
 */
import type { Clock } from '#base/clock.ts';
import { networkOf } from '#base/network-of.ts';
import { TokenBuckets } from '#base/token-buckets.ts';

/** Seconds' worth of refusals that go out at once. */
const BURST_SECONDS = 4;
/** Seconds' worth of refusals that may wait; the connections of further ones are closed. */
const WAIT_SECONDS = 10;

/**
 * A refused call costs the store several reads and the signalling a transaction: as much as so many refused
 * requests.
 */
const CALL_COST = 10;
/** Signalling waits for an answer a little longer than that. */
const CALL_WAIT_MS = 2_000;

/** The refusals of one process. */
export class Refusals {
  readonly #clock: Pick<Clock, 'now' | 'sleep'>;
  readonly #perSecond: number;
  readonly #buckets: TokenBuckets;

  /** `perSecond` is how many refusals one client gets in a second; infinity is no limit. */
  constructor(clock: Pick<Clock, 'now' | 'sleep'>, perSecond: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#buckets = new TokenBuckets(clock, { perSecond, burst: BURST_SECONDS * perSecond });
  }

  /** How many clients are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /** As `take`, for the network an address belongs to. */
  takeFor(address: string): Promise<boolean> | null {
    return this.take(networkOf(address));
  }

  /**
   * Null when a refusal may go to `client` now. Otherwise resolves when it may, or at once with false when
   * too many wait: the connection should be closed.
   */
  take(client: string): Promise<boolean> | null {
    return this.#take(client, 1, WAIT_SECONDS * 1_000);
  }

  /** Resolves when a call of `client` may be refused; at once when too many refusals wait. */
  async takeForCall(client: string): Promise<void> {
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
