/** What tests ask of a running product, whether it is one program or several. */
import { RootApi } from './root-api.ts';

/** Generous, so that only a hang times out. */
const CONDITION_MS = 60_000;
/**
 * The longer a condition is awaited, the less often it is read: most conditions are requests, whose processor
 * time a busy machine lacks elsewhere.
 */
const PAUSE = { shortestMs: 50, longestMs: 250, share: 0.1 };

/** A running product. */
export abstract class Installation extends RootApi {
  abstract readonly sipPort: number;
  /** The demo agent's number. */
  abstract readonly number: string;

  /** The end of its output, for the message of a failure. */
  protected abstract get lastOutput(): string;

  /** SIP address of a number, by default the demo agent's. */
  sipAddress(number = this.number): string {
    return `sip:${number}@127.0.0.1:${this.sipPort}`;
  }

  /**
   * Polls `condition` until it holds, ever less often or every `everyMs`; an error counts as false. On
   * timeout, throws with the end of the output.
   */
  async until(
    what: string,
    condition: () => boolean | Promise<boolean>,
    timeoutMs = CONDITION_MS,
    everyMs?: number,
  ): Promise<void> {
    const startedMs = performance.now();
    let lastError: unknown;
    for (;;) {
      try {
        if (await condition()) return;
      } catch (error) {
        lastError = error;
      }
      const waitedMs = performance.now() - startedMs;
      if (waitedMs > timeoutMs)
        throw new Error(
          `${what}: not within ${timeoutMs} ms\n--- the product's output ends:\n${this.lastOutput}`,
          { cause: lastError },
        );
      const pauseMs =
        everyMs ?? Math.min(PAUSE.longestMs, Math.max(PAUSE.shortestMs, waitedMs * PAUSE.share));
      await new Promise((done) => setTimeout(done, pauseMs));
    }
  }
}
