/**
 * Distinguishes a hung process from one that gets no CPU: a busy machine is no reason to kill a worker with
 * calls. Clock and wait are handed in.
 */

/** How long a process has given no sign of life although it had CPU time. */
export class HangDetector {
  #hungMs = 0;
  #countedMs: number;
  /** Its wait for CPU at the last sample, ms; null if unknown. */
  #waitedMs: number | null = null;

  constructor(nowMs: number) {
    this.#countedMs = nowMs;
  }

  /** Records a sign of life. */
  alive(nowMs: number): void {
    this.#hungMs = 0;
    this.#countedMs = nowMs;
  }

  /** The time since the last sample says nothing, because the supervisor itself was late. */
  skip(nowMs: number): void {
    this.#countedMs = nowMs;
  }

  /**
   * Takes a sample; `waitedMs` is the total time its main thread has waited for CPU. Returns how long it has
   * hung, ms.
   */
  sample(nowMs: number, waitedMs: number | null): number {
    const waited = waitedMs === null || this.#waitedMs === null ? 0 : waitedMs - this.#waitedMs;
    this.#hungMs += Math.max(0, nowMs - this.#countedMs - waited);
    this.#countedMs = nowMs;
    this.#waitedMs = waitedMs;
    return this.#hungMs;
  }
}
