/**
 * Distinguishes a hung process from one that gets no CPU: a busy machine is no reason to kill a worker with
 * calls. Clock and times are handed in.
 */
import type { MainThreadTimes } from '#base/platform.ts';

/**
 * Most of the time since the last sample that counts. If more has passed, the supervisor itself was late, and
 * perhaps the whole machine was paused: a process that is not at fault has given its sign of life before
 * several samples. One that hangs is found nearly as soon although each sample is late.
 */
const MOST_PER_SAMPLE_MS = 1_300;
/**
 * Longest time within the kernel that does not count. A disk that has not answered by then will not, and a
 * process that reads in an endless loop is found.
 */
const MOST_BLOCKED_MS = 30_000;

/** How long a process has given no sign of life although it could have. */
export class HangDetector {
  #hungMs = 0;
  /** Time since its last sign of life that was spent within the kernel and did not count. */
  #blockedMs = 0;
  #countedMs: number;
  /** At the last sample; null if unknown. */
  #times: MainThreadTimes | null = null;

  constructor(nowMs: number) {
    this.#countedMs = nowMs;
  }

  /** Records a sign of life of this time. If it is still to come, the process does not hang until then. */
  alive(atMs: number): void {
    this.#hungMs = 0;
    this.#blockedMs = 0;
    this.#countedMs = Math.max(this.#countedMs, atMs);
  }

  /**
   * Takes a sample, every second, and every half second of a process that seems to hang; `times` are those of
   * its main thread, null if unknown. Returns how long it has hung, ms.
   */
  sample(nowMs: number, times: MainThreadTimes | null): number {
    const passedMs = Math.max(0, nowMs - this.#countedMs);
    const atFaultMs = times && this.#times ? this.#atFaultMs(passedMs, times, this.#times) : passedMs;
    this.#hungMs += Math.min(MOST_PER_SAMPLE_MS, Math.max(0, atFaultMs));
    this.#countedMs = Math.max(this.#countedMs, nowMs);
    this.#times = times;
    return this.#hungMs;
  }

  /** The part of a time in which the process could have given a sign of life. */
  #atFaultMs(passedMs: number, now: MainThreadTimes, before: MainThreadTimes): number {
    // A wait for CPU that still lasts is in no figure of the kernel: only what it ran is certain.
    if (now.state === 'runnable') return Math.min(passedMs, now.ranMs - before.ranMs);
    if (now.state === 'blocked' && this.#blockedMs < MOST_BLOCKED_MS) {
      this.#blockedMs += passedMs;
      return 0;
    }
    return passedMs - (now.waitedMs - before.waitedMs);
  }
}
