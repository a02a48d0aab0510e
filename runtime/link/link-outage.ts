/** The time a worker has been without its control plane, and when to retry. */
import type { Clock } from '#base/clock.ts';

const RECONNECT_FIRST_MS = 100;
const RECONNECT_MAX_MS = 2_000;
/**
 * A control plane that starts or restarts beside this worker listens within seconds, so retries are frequent
 * at first.
 */
const EAGER_FOR_MS = 10_000;
const EAGER_MAX_MS = 200;
/** An outage this long is logged as a warning. */
const WARN_AFTER_MS = 3_000;
/** The same before the first link: on a busy machine a control plane takes 10 s to start. */
const WARN_AT_START_MS = 15_000;

/** The current outage; a worker starts in one. */
export class LinkOutage {
  readonly #clock: Clock;
  #sinceMs: number;
  #retryMs = RECONNECT_FIRST_MS;
  #warnAfterMs = WARN_AT_START_MS;
  #hasWarned = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.now();
  }

  /** The link was lost. */
  begin(): void {
    this.#sinceMs = this.#clock.now();
  }

  /** The link is up. */
  end(): void {
    this.#retryMs = RECONNECT_FIRST_MS;
    this.#warnAfterMs = WARN_AFTER_MS;
    this.#hasWarned = false;
  }

  get durationMs(): number {
    return this.#clock.now() - this.#sinceMs;
  }

  /** True once per outage, when it becomes long enough for a warning. */
  takeWarning(): boolean {
    if (this.#hasWarned || this.durationMs <= this.#warnAfterMs) return false;
    this.#hasWarned = true;
    return true;
  }

  /** Time until the next attempt in ms, longer each time. */
  nextRetryMs(): number {
    const waitMs = this.#retryMs;
    const longestMs = this.durationMs < EAGER_FOR_MS ? EAGER_MAX_MS : RECONNECT_MAX_MS;
    this.#retryMs = Math.min(waitMs * 2, longestMs);
    return waitMs;
  }
}
