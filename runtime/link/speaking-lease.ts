/**
 * How long a worker may speak. Once signalling watches it, other workers may take its calls when it seems
 * dead: when no control plane hears it, a signalling server says that it does not either, and none is known
 * to hear it. A worker that cannot exclude this falls silent, until a control plane has said which calls it
 * still has. While every signalling server hears it, none can say otherwise: it speaks even if all control
 * planes are away. A server whose process is gone says nothing more.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { SILENCE_REPORTED_MS, SPEAKING_LEASE_MS } from '#protocol/worker-watch.ts';

const CHECK_MS = 500;
/** A signalling server that has not heard this worker for so long does not know it any more. */
const FORGOTTEN_MS = 2 * SILENCE_REPORTED_MS;

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
  /** A control plane has heard of this worker what it sent at this time. */
  #knownMs: number;
  /** When the worker sent what each signalling server that knows it has heard last. */
  readonly #heardMs = new Map<object, number>();
  /** Whether the control plane compares the sessions after a lapse. */
  #isChecked = false;
  #isLapsed = false;
  #lapses = 0;
  /** Resolve when the lapse is over. */
  readonly #waiting: (() => void)[] = [];

  constructor(options: SpeakingLeaseOptions) {
    this.#options = options;
    this.#knownMs = options.clock.now();
    this.#timer = options.clock.every(CHECK_MS, () => {
      // First: a worker that stood still for that long has lost its lease before it forgets why.
      void this.hasLapsed;
      this.#forget();
    });
  }

  /** Monotonic time, ms. */
  now(): number {
    return this.#options.clock.now();
  }

  /** True from the end of the lease until `confirm`. */
  get hasLapsed(): boolean {
    if (!this.#isLapsed && this.now() > this.#endMs()) {
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
    if (this.hasLapsed) return;
    this.#knownMs = Math.max(this.#knownMs, sentMs);
    if (this.#heardMs.size > 0) this.#tell();
  }

  /**
   * A signalling server asks for a sign of life, and says what it has heard; null: it may know nothing of
   * this worker yet. False: it must not learn of it.
   */
  asked(server: object, heard: { readonly sentMs: number; readonly isReported: boolean } | null): boolean {
    if (this.#heardMs.size === 0 && !this.#isChecked) return false;
    const isNew = !this.#heardMs.has(server);
    if (this.hasLapsed) return true;
    if (isNew) this.#heardMs.set(server, this.now());
    else if (heard) this.#heardMs.set(server, Math.max(this.#heardMs.get(server) ?? 0, heard.sentMs));
    if (heard?.isReported) this.#knownMs = Math.max(this.#knownMs, heard.sentMs);
    this.#tell();
    return true;
  }

  /**
   * No process listens where this signalling server was. It need not hear this worker any more, unless it had
   * the time to say that it does not, or is the last one: then this worker may itself be cut off.
   */
  gone(server: object): void {
    const heardMs = this.#heardMs.get(server);
    if (heardMs === undefined || this.#heardMs.size === 1 || this.hasLapsed) return;
    if (this.now() > heardMs + SPEAKING_LEASE_MS) return;
    this.#heardMs.delete(server);
    this.#tell();
  }

  /** A control plane has registered this worker after this number of lapses. */
  registered(lapses: number, isChecked: boolean): void {
    this.#isChecked = isChecked;
    if (!isChecked) this.#confirm(lapses);
  }

  /**
   * A control plane has said which calls this worker has, after this number of lapses. Before, it has listed
   * for the other replicas that it heard the registration.
   */
  confirm({ lapses, sentMs }: { readonly lapses: number; readonly sentMs: number }): void {
    this.#confirm(lapses);
    this.linked(sentMs);
  }

  #confirm(lapses: number): void {
    if (lapses !== this.lapses || !this.#isLapsed) return;
    this.#isLapsed = false;
    this.#knownMs = this.now();
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

  /** Tells of it at once: without a server that knows this worker, nothing else would end the old lease. */
  #forget(): void {
    const nowMs = this.now();
    const forgotten = [...this.#heardMs].filter(([, heardMs]) => nowMs - heardMs > FORGOTTEN_MS);
    for (const [server] of forgotten) this.#heardMs.delete(server);
    if (forgotten.length > 0) this.#tell();
  }

  /** Infinite while no signalling server knows this worker. */
  #endMs(): number {
    return Math.max(this.#knownMs, Math.min(...this.#heardMs.values())) + SPEAKING_LEASE_MS;
  }

  #tell(): void {
    this.#options.onChange(this.#isLapsed ? 0 : this.#endMs());
  }
}
