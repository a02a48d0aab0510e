/**
 * How much a web client may say on its data channel: what comes faster is dropped, so that one visitor cannot
 * hold up the calls of others on the worker.
 */
import type { Clock } from '#base/clock.ts';
import { TokenBucket } from '#base/token-bucket.ts';
import { MAX_MESSAGE_LENGTH } from './event-channel.ts';

/** Nobody types as fast; tools of a page answer in bursts. */
const MESSAGES = { perSecond: 20, burst: 200 };
const LENGTH = { perSecond: 1 << 16, burst: 10 * (1 << 16) };

/** Counts what one client sends. */
export class MessageGate {
  readonly #messages: TokenBucket;
  readonly #length: TokenBucket;
  readonly #onFirstDropped: () => void;
  #hasDropped = false;

  constructor(clock: Clock, onFirstDropped: () => void) {
    this.#messages = new TokenBucket(clock, MESSAGES);
    this.#length = new TokenBucket(clock, LENGTH);
    this.#onFirstDropped = onFirstDropped;
  }

  /** Whether a message of this length (UTF-16 units or bytes) may pass now. */
  passes(length: number): boolean {
    if (length <= MAX_MESSAGE_LENGTH && this.#messages.has(1) && this.#length.has(length)) {
      this.#messages.take(1);
      this.#length.take(length);
      return true;
    }
    if (!this.#hasDropped) this.#onFirstDropped();
    this.#hasDropped = true;
    return false;
  }
}
