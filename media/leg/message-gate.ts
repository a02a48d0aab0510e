/**
 * Rate limit of a web client's data channel: messages above it are dropped, so that one visitor cannot hold
 * up other calls on the worker.
 */
import type { Clock } from '#base/clock.ts';
import { TokenBucket } from '#base/token-bucket.ts';
import type { MediaShared } from './leg-audio.ts';

/** Longest message from a client, in UTF-16 units (in a room: bytes). */
export const MAX_MESSAGE_LENGTH = 1 << 18;
/** Faster than typing; a page's tools answer in bursts. */
const MESSAGES = { perSecond: 20, burst: 200 };
const LENGTH = { perSecond: 1 << 16, burst: 10 * (1 << 16) };

/** Counts the messages of one client. */
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

/** The gate of one client, which logs the first message it drops. */
export function createMessageGate({ clock, log }: Pick<MediaShared, 'clock' | 'log'>): MessageGate {
  return new MessageGate(clock, () =>
    log('warn', 'a web client exceeds its message rate; its excess messages are dropped'),
  );
}
