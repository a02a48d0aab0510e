/** How fast an account's uploads are read while others ask, too. Counted in this process. */
import type { Clock } from '#base/clock.ts';
import { TokenBuckets } from '#base/token-buckets.ts';
import { fault } from '#config/errors.ts';

/** Bytes that are read as fast as they come. */
const BURST_BYTES = 8 * 1_048_576;
/** The most an upload counts for before it has come: more than that is refused by most routes, unread. */
const MOST_ANNOUNCED_BYTES = 64 * 1_048_576;
/** An upload that would wait for longer is refused: its connection would be closed while it waits. */
const MOST_WAIT_MS = 30_000;

/** An upload that is counted. */
export interface PacedUpload {
  /** How long it is not to be read yet. */
  readonly waitMs: number;
  /** Counts it for what has come of it, now that it is over. Idempotent: the first one counts. */
  end(come: number): void;
}

/** The paces of one process. */
export class UploadPaces {
  readonly #perSecond: number;
  readonly #buckets: TokenBuckets;

  /** `perSecond` is how many bytes of an account are read in a second; infinity is no limit. */
  constructor(clock: Pick<Clock, 'now'>, perSecond: number) {
    this.#perSecond = perSecond;
    this.#buckets = new TokenBuckets(clock, { perSecond, burst: BURST_BYTES });
  }

  /** Counts an upload for what it is expected to bring. Throws `too_many_bytes_a_second`. */
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
