/** The time a worker has no link to its control plane: how long it has lasted, and when to try again. */
import type { Clock } from '#base/clock.ts';

const RECONNECT_FIRST_MS = 100;
const RECONNECT_MAX_MS = 2_000;
/** A control plane that starts or restarts beside this worker listens within seconds: until then retries are frequent. */
const EAGER_FOR_MS = 10_000;
const EAGER_MAX_MS = 200;
/** An outage this long is logged as a warning. */
const WARN_AFTER_MS = 3_000;

/** The present outage; a worker starts in one. */
export class LinkOutage {
  readonly #clock: Clock;
  #sinceMs: number;
  #retryMs = RECONNECT_FIRST_MS;
  #hasWarned = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.now();
  }

  /** The link is lost. */
  begin(): void {
    this.#sinceMs = this.#clock.now();
  }

  /** The link is up. */
  end(): void {
    this.#retryMs = RECONNECT_FIRST_MS;
    this.#hasWarned = false;
  }

  get durationMs(): number {
    return this.#clock.now() - this.#sinceMs;
  }

  /** True once in an outage, as soon as it is worth a warning. */
  takeWarning(): boolean {
    if (this.#hasWarned || this.durationMs <= WARN_AFTER_MS) return false;
    this.#hasWarned = true;
    return true;
  }

  /** Time to wait before the next attempt, ms; longer each time. */
  nextRetryMs(): number {
    const waitMs = this.#retryMs;
    const longestMs = this.durationMs < EAGER_FOR_MS ? EAGER_MAX_MS : RECONNECT_MAX_MS;
    this.#retryMs = Math.min(waitMs * 2, longestMs);
    return waitMs;
  }
}
