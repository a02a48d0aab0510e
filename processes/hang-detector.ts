/**
 * Tells a process that stands still from one that is not let run: a main thread that waits for a processor
 * stands by nobody's fault of its own, and a busy machine is no reason to kill a worker with calls on it.
 * Time is handed in; the kernel's account of the wait is read by `processorWaitMs`.
 */
import { readFile } from 'node:fs/promises';

/** How long one process has given no sign of life although it could have. */
export class HangDetector {
  #stoodMs = 0;
  #countedMs: number;
  /** What it had waited for a processor when last looked at, ms; null where nobody tells. */
  #waitedMs: number | null = null;

  constructor(nowMs: number) {
    this.#countedMs = nowMs;
  }

  /** It gave a sign of life. */
  alive(nowMs: number): void {
    this.#stoodMs = 0;
    this.#countedMs = nowMs;
  }

  /** The time since the last look says nothing: whoever looks was late itself. */
  skip(nowMs: number): void {
    this.#countedMs = nowMs;
  }

  /**
   * Takes a look; `waitedMs` is what its main thread has waited for a processor in all its life. Returns how
   * long it has stood, ms.
   */
  sample(nowMs: number, waitedMs: number | null): number {
    const waited = waitedMs === null || this.#waitedMs === null ? 0 : waitedMs - this.#waitedMs;
    this.#stoodMs += Math.max(0, nowMs - this.#countedMs - waited);
    this.#countedMs = nowMs;
    this.#waitedMs = waitedMs;
    return this.#stoodMs;
  }
}

/**
 * What the main thread of a process has waited for a processor in its life, ms; null where the system does
 * not tell (Linux does, `proc(5)` schedstat).
 */
export async function processorWaitMs(pid: number): Promise<number | null> {
  try {
    const [, waitedNs] = (await readFile(`/proc/${pid}/task/${pid}/schedstat`, 'utf8')).split(' ');
    return Number(waitedNs) / 1e6;
  } catch {
    return null;
  }
}
