/**
 * Distinguishes a hung process from one that gets no CPU: a busy machine is no reason to kill a worker with
 * calls. Clock and wait are handed in.
 */

/**
 * Most of the time since the last sample that counts. If more has passed, the supervisor itself was late, and
 * perhaps the whole machine was paused: a process that is not at fault has given its sign of life before
 * several samples. One that hangs is found nearly as soon although each sample is late.
 */
const MOST_PER_SAMPLE_MS = 1_300;

/** How long a process has given no sign of life although it had CPU time. */
export class HangDetector {
  #hungMs = 0;
  #countedMs: number;
  /** Its wait for CPU at the last sample, ms; null if unknown. */
  #waitedMs: number | null = null;

  constructor(nowMs: number) {
    this.#countedMs = nowMs;
  }

  /** Records a sign of life of this time. If it is still to come, the process does not hang until then. */
  alive(atMs: number): void {
    this.#hungMs = 0;
    this.#countedMs = Math.max(this.#countedMs, atMs);
  }

  /**
   * Takes a sample, every second, and every half second of a process that seems to hang; `waitedMs` is the
   * total time its main thread has waited for CPU. Returns how long it has hung, ms.
   */
  sample(nowMs: number, waitedMs: number | null): number {
    const waited = waitedMs === null || this.#waitedMs === null ? 0 : waitedMs - this.#waitedMs;
    const passedMs = nowMs - this.#countedMs - waited;
    this.#hungMs += Math.min(MOST_PER_SAMPLE_MS, Math.max(0, passedMs));
    this.#countedMs = Math.max(this.#countedMs, nowMs);
    this.#waitedMs = waitedMs;
    return this.#hungMs;
  }
}
