/**
 * Which engines of a process failed recently; shared by its calls. A failed engine is skipped for a while and
 * probed in the background whenever it is skipped, so it is back as soon as it works and no caller waits to
 * find out.
 */
import type { Clock } from '#base/clock.ts';

/** How long a failed engine is skipped if another can serve and no probe runs, ms. */
const SKIPPED_MS = 30_000;
/**
 * How long an engine that was late is not the first choice, ms: the line that bridges the wait must not be
 * late as well.
 */
const LATE_MS = 5_000;
/** Wait before the first probe, ms; it doubles with each further probe, until the engine works again. */
const FIRST_PROBE_MS = 2_000;
const LAST_PROBE_MS = 16_000;
/** Most engines remembered: those on agents' own servers are as many as the agents. */
const MAX_REMEMBERED = 1_000;

/** An engine that failed and has not served a call since. */
interface Fault {
  /** Time of the last failure; long ago after a successful probe. */
  readonly atMs: number;
  readonly probes: number;
  readonly isBeingProbed: boolean;
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
      this.#since(this.#faults.get(engineId)?.atMs) >= SKIPPED_MS &&
      this.#since(this.#lateAtMs.get(engineId)) >= LATE_MS
    );
  }

  failed(engineId: string): void {
    const fault = this.#faults.get(engineId) ?? { probes: 0, isBeingProbed: false };
    remember(this.#faults, engineId, { ...fault, atMs: this.#clock.now() });
  }

  /**
   * One late answer may be a busy moment and costs one utterance its engine; a second one soon after is a
   * failure.
   */
  late(engineId: string): void {
    const beforeMs = this.#lateAtMs.get(engineId);
    remember(this.#lateAtMs, engineId, this.#clock.now());
    if (this.#since(beforeMs) < SKIPPED_MS) this.failed(engineId);
  }

  /** The engine has served a call. */
  worked(engineId: string): void {
    this.#faults.delete(engineId);
    this.#lateAtMs.delete(engineId);
  }

  /**
   * The engine was skipped: probes it with `serves`, unless that was done recently, and returns whether it
   * may be used again.
   */
  skipped(engineId: string, serves: () => Promise<boolean>): void {
    const fault = this.#faults.get(engineId);
    if (
      !fault ||
      fault.isBeingProbed ||
      this.#since(fault.atMs) < Math.min(LAST_PROBE_MS, FIRST_PROBE_MS * 2 ** fault.probes)
    )
      return;
    this.#faults.set(engineId, { ...fault, probes: fault.probes + 1, isBeingProbed: true });
    void serves()
      .catch(() => false)
      .then((isServing) => {
        const now = this.#faults.get(engineId);
        // A call that used it meanwhile has newer information.
        if (!now) return;
        this.#faults.set(engineId, {
          ...now,
          atMs: isServing ? Number.NEGATIVE_INFINITY : this.#clock.now(),
          isBeingProbed: false,
        });
        if (isServing) this.#lateAtMs.delete(engineId);
      });
  }

  #since(atMs = Number.NEGATIVE_INFINITY): number {
    return this.#clock.now() - atMs;
  }
}

/** Sets an entry as the newest, and forgets the oldest beyond the limit. */
function remember<Value>(entries: Map<string, Value>, engineId: string, value: Value): void {
  entries.delete(engineId);
  entries.set(engineId, value);
  const [oldest] = entries.keys();
  if (entries.size > MAX_REMEMBERED && oldest !== undefined) entries.delete(oldest);
}
