/**
 * Which engines of a process have failed lately; shared by its calls. One that failed is passed over for a
 * while, and tried out in the background as often as it is: it is back as soon as it serves again, and no
 * caller waits to find out.
 */
import type { Clock } from '#base/clock.ts';

/** How long an engine that failed is passed over where another one can serve and nobody tries it out, ms. */
const PASSED_OVER_MS = 30_000;
/**
 * How long one that was late is not asked first, ms: the line that is to bridge the wait must not wait for it
 * too.
 */
const LATE_MS = 5_000;
/**
 * It is tried out this long after its failure, ms, and after twice as long each time until it has done its
 * work again.
 */
const FIRST_TRIAL_MS = 2_000;
const LAST_TRIAL_MS = 16_000;

/** An engine that failed, until it has done a call's work again. */
interface Fault {
  /** When it failed last; long ago once it has stood a trial. */
  readonly atMs: number;
  readonly trials: number;
  readonly isTriedOut: boolean;
}

/** The health of engines, by their ids. */
export class EngineHealth {
  readonly #clock: Clock;
  readonly #faults = new Map<string, Fault>();
  readonly #lateAtMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isWell(engineId: string): boolean {
    return (
      this.#since(this.#faults.get(engineId)?.atMs) >= PASSED_OVER_MS &&
      this.#since(this.#lateAtMs.get(engineId)) >= LATE_MS
    );
  }

  failed(engineId: string): void {
    const fault = this.#faults.get(engineId) ?? { trials: 0, isTriedOut: false };
    this.#faults.set(engineId, { ...fault, atMs: this.#clock.now() });
  }

  /** Late once is a busy moment and costs one utterance its engine; late again soon is a failure. */
  late(engineId: string): void {
    const beforeMs = this.#lateAtMs.get(engineId);
    this.#lateAtMs.set(engineId, this.#clock.now());
    if (this.#since(beforeMs) < PASSED_OVER_MS) this.failed(engineId);
  }

  /** It has done a call's work. */
  worked(engineId: string): void {
    this.#faults.delete(engineId);
    this.#lateAtMs.delete(engineId);
  }

  /**
   * It was passed over: `serves` tries it out, unless that was done lately, and says whether it can be asked
   * again.
   */
  passedOver(engineId: string, serves: () => Promise<boolean>): void {
    const fault = this.#faults.get(engineId);
    if (
      !fault ||
      fault.isTriedOut ||
      this.#since(fault.atMs) < Math.min(LAST_TRIAL_MS, FIRST_TRIAL_MS * 2 ** fault.trials)
    )
      return;
    this.#faults.set(engineId, { ...fault, trials: fault.trials + 1, isTriedOut: true });
    void serves()
      .catch(() => false)
      .then((isServing) => {
        const now = this.#faults.get(engineId);
        // A call that asked it meanwhile knows better.
        if (!now) return;
        this.#faults.set(engineId, {
          ...now,
          atMs: isServing ? Number.NEGATIVE_INFINITY : this.#clock.now(),
          isTriedOut: false,
        });
        if (isServing) this.#lateAtMs.delete(engineId);
      });
  }

  #since(atMs = Number.NEGATIVE_INFINITY): number {
    return this.#clock.now() - atMs;
  }
}
