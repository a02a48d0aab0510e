/**
 * How long a worker may speak. Once signalling watches it, other workers may take its calls when it seems
 * dead; a worker that neither a control plane nor signalling has acknowledged for a while therefore falls
 * silent, until a control plane has said which calls it still has.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { SPEAKING_LEASE_MS } from '#protocol/worker-watch.ts';

const CHECK_MS = 500;

/** Options of a lease. */
export interface SpeakingLeaseOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with the monotonic time until which the worker may speak, ms, whenever it changes. */
  readonly onChange: (untilMs: number) => void;
}

/** The lease of one worker. */
export class SpeakingLease {
  readonly #options: SpeakingLeaseOptions;
  readonly #timer: Timer;
  #acknowledgedMs: number;
  #isWatched = false;
  #isLapsed = false;
  #lapses = 0;
  /** Resolve when the lapse is over. */
  readonly #waiting: (() => void)[] = [];

  constructor(options: SpeakingLeaseOptions) {
    this.#options = options;
    this.#acknowledgedMs = options.clock.now();
    this.#timer = options.clock.every(CHECK_MS, () => this.hasLapsed);
  }

  /** Monotonic time, ms. */
  now(): number {
    return this.#options.clock.now();
  }

  /** True from the end of the lease until `confirm`. */
  get hasLapsed(): boolean {
    if (this.#isWatched && !this.#isLapsed && this.now() - this.#acknowledgedMs > SPEAKING_LEASE_MS) {
      this.#isLapsed = true;
      this.#lapses += 1;
      this.#options.logger.warn(
        'no answer of a control plane or of signalling: silent, because other workers may take the calls',
      );
      this.#tell();
    }
    return this.#isLapsed;
  }

  /** Number of lapses so far, for `confirm`. */
  get lapses(): number {
    // The lease may have just ended.
    void this.hasLapsed;
    return this.#lapses;
  }

  /** A control plane has heard what was sent at this time. */
  linked(sentMs: number): void {
    this.#extend(sentMs);
  }

  /** Signalling, which watches this worker, has heard what was sent at this time. */
  acknowledged(sentMs: number): void {
    // Before the first time, silence has no consequences.
    if (!this.#isWatched && sentMs > this.#acknowledgedMs) this.#acknowledgedMs = sentMs;
    this.#isWatched = true;
    this.#extend(sentMs);
  }

  /** A control plane has said which calls this worker has, after this number of lapses. */
  confirm(lapses: number): void {
    if (lapses !== this.lapses || !this.#isLapsed) return;
    this.#isLapsed = false;
    this.#acknowledgedMs = this.now();
    this.#options.logger.info('a control plane has confirmed the calls; speaking again');
    this.#tell();
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves when this worker certainly has its calls: at once unless the lease has lapsed. */
  hasItsCalls(): Promise<void> {
    if (!this.hasLapsed) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  close(): void {
    this.#timer.cancel();
  }

  #extend(sentMs: number): void {
    if (this.hasLapsed) return;
    if (sentMs > this.#acknowledgedMs) this.#acknowledgedMs = sentMs;
    if (this.#isWatched) this.#tell();
  }

  #tell(): void {
    this.#options.onChange(this.#isLapsed ? 0 : this.#acknowledgedMs + SPEAKING_LEASE_MS);
  }
}
