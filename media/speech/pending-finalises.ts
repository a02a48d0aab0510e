/**
 * The unanswered finalises of a recognition stream whose engine answers each request to settle in order. A
 * finalise with nothing new to settle shares the answer of the request before it. Each answer has a deadline.
 */
import type { Clock, Timer } from '#base/clock.ts';

/** What the finalises of a stream need of it. */
export interface PendingFinalisesOptions {
  readonly clock: Clock;
  /** Longest wait for the engine's answer, ms; read whenever a wait begins. */
  readonly timeoutMs: () => number;
  /** The engine did not answer in time. */
  readonly onTimeout: () => void;
  /** Reports one finalise as answered. */
  readonly onFinalised: () => void;
  /** True once the stream is closed or has failed: nothing is reported any more. */
  readonly isOver: () => boolean;
}

/** The finalises of one stream. */
export class PendingFinalises {
  readonly #options: PendingFinalisesOptions;
  /** How many finalises each unanswered request answers. */
  readonly #requests: number[] = [];
  #timeout: Timer | null = null;

  constructor(options: PendingFinalisesOptions) {
    this.#options = options;
  }

  /** True if no request is unanswered. */
  get isEmpty(): boolean {
    return this.#requests.length === 0;
  }

  /** A finalise for which a request was sent. */
  add(): void {
    this.#requests.push(1);
    this.#timeout ??= this.#startTimeout();
  }

  /** A finalise with nothing new to settle: answered with the last request, or at once if there is none. */
  share(): void {
    const last = this.#requests.pop();
    if (last !== undefined) this.#requests.push(last + 1);
    // Asynchronous: never calls the listener from within the caller's own call.
    else queueMicrotask(() => this.#report(1));
  }

  /** The engine has answered the oldest request. */
  answered(): void {
    const count = this.#requests.shift() ?? 0;
    this.cancel();
    if (this.#requests.length > 0 && !this.#options.isOver()) this.#timeout = this.#startTimeout();
    this.#report(count);
  }

  /** Begins the current wait again; does nothing if there is none. */
  restartTimeout(): void {
    if (!this.#timeout) return;
    this.cancel();
    this.#timeout = this.#startTimeout();
  }

  /** Stops waiting. */
  cancel(): void {
    this.#timeout?.cancel();
    this.#timeout = null;
  }

  #startTimeout(): Timer {
    const { clock, timeoutMs, onTimeout } = this.#options;
    return clock.after(timeoutMs(), onTimeout);
  }

  /** A listener may close the stream in between. */
  #report(count: number): void {
    for (let reported = 0; reported < count && !this.#options.isOver(); reported++)
      this.#options.onFinalised();
  }
}
