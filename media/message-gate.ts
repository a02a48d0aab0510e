/** How much a web client may say on its data channel: what comes faster is dropped, so that one visitor cannot hold up the calls of others on the worker. */
import type { Clock } from '#config/clock.ts';
import { MAX_MESSAGE_LENGTH } from './event-channel.ts';

/** Nobody types as fast; tools of a page answer in bursts. */
const PER_SECOND = { messages: 20, length: 1 << 16 };
const BURST_SECONDS = 10;

/** Counts what one client sends. */
export class MessageGate {
  readonly #clock: Clock;
  readonly #onFirstDropped: () => void;
  #messages = PER_SECOND.messages * BURST_SECONDS;
  #length = PER_SECOND.length * BURST_SECONDS;
  #atMs: number;
  #hasDropped = false;

  constructor(clock: Clock, onFirstDropped: () => void) {
    this.#clock = clock;
    this.#onFirstDropped = onFirstDropped;
    this.#atMs = clock.now();
  }

  /** Whether a message of this length (UTF-16 units or bytes) may pass now. */
  passes(length: number): boolean {
    const nowMs = this.#clock.now();
    const seconds = (nowMs - this.#atMs) / 1_000;
    this.#atMs = nowMs;
    this.#messages = Math.min(PER_SECOND.messages * BURST_SECONDS, this.#messages + seconds * PER_SECOND.messages);
    this.#length = Math.min(PER_SECOND.length * BURST_SECONDS, this.#length + seconds * PER_SECOND.length);
    if (length <= MAX_MESSAGE_LENGTH && this.#messages >= 1 && this.#length >= length) {
      this.#messages--;
      this.#length -= length;
      return true;
    }
    if (!this.#hasDropped) this.#onFirstDropped();
    this.#hasDropped = true;
    return false;
  }
}
