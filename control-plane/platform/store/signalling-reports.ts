/** The latest report of each signalling server to this replica (protocol/worker-watch.ts). */
import type { Clock } from '#base/clock.ts';
import type { SignallingReport } from '#protocol/worker-watch.ts';

/** A server reports every second; one that reports to another replica by now is forgotten here. */
const KEPT_MS = 10_000;

/** Keeps the reports in memory; the register passes them on to the other replicas. */
export class SignallingReports {
  readonly #clock: Clock;
  readonly #latest = new Map<string, { readonly report: SignallingReport; readonly takenMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take(report: SignallingReport): void {
    this.#latest.set(report.signalling, { report, takenMs: this.#clock.now() });
  }

  /** The reports of the last seconds. */
  current(): readonly SignallingReport[] {
    const nowMs = this.#clock.now();
    return [...this.#latest].flatMap(([id, { report, takenMs }]) => {
      const ageMs = nowMs - takenMs;
      if (ageMs > KEPT_MS) {
        this.#latest.delete(id);
        return [];
      }
      return [{ ...report, age_ms: ageMs }];
    });
  }
}
