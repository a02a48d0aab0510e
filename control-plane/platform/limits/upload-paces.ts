/**
 * Limits the rate at which an account's uploads are read while other accounts are active. Counted per
 * process.
 */
import type { Clock } from '#base/clock.ts';
import { TokenBuckets } from '#base/token-buckets.ts';
import { fault } from '#config/errors.ts';

/** Bytes read without delay. */
const BURST_BYTES = 8 * 1_048_576;
/** Maximum size an upload counts with before it has arrived; most routes refuse larger ones unread. */
const MOST_ANNOUNCED_BYTES = 64 * 1_048_576;
/** An upload that would wait longer is refused, because its connection would time out meanwhile. */
const MOST_WAIT_MS = 30_000;

/** An upload being counted. */
export interface PacedUpload {
  /** Delay before reading may start. */
  readonly waitMs: number;
  /** Replaces the expected size by the received one. Idempotent: only the first call counts. */
  end(come: number): void;
}

/** The upload rates of one process. */
export class UploadPaces {
  readonly #perSecond: number;
  readonly #buckets: TokenBuckets;

  /** `perSecond` is the number of bytes read per account and second; Infinity means no limit. */
  constructor(clock: Pick<Clock, 'now'>, perSecond: number) {
    this.#perSecond = perSecond;
    this.#buckets = new TokenBuckets(clock, { perSecond, burst: BURST_BYTES });
  }

  /** Counts an upload with its expected size. Throws `too_many_bytes_a_second`. */
  begin(account: string, bytes: number): PacedUpload {
    if (this.#perSecond === Number.POSITIVE_INFINITY) return { waitMs: 0, end: () => undefined };
    const waitMs = this.#buckets.of(account).waitMs(0);
    if (waitMs > MOST_WAIT_MS)
      throw fault('too_many_bytes_a_second', { limit: this.#perSecond, seconds: Math.ceil(waitMs / 1_000) });
    const counted = Math.min(bytes, MOST_ANNOUNCED_BYTES);
    this.#buckets.of(account).take(counted);
    let isOver = false;
    const end = (come: number) => {
      if (!isOver) this.#buckets.of(account).take(come - counted);
      isOver = true;
    };
    return { waitMs, end };
  }
}
