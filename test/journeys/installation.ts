/** What tests ask of a running product, whether it is one program or several. */
import { RootApi } from './root-api.ts';

/** Generous, so that only a hang times out. */
const CONDITION_MS = 60_000;

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
   * Polls `condition` every 50 ms until it holds; an error counts as false. On timeout, throws with the end
   * of the output.
   */
  async until(
    what: string,
    condition: () => boolean | Promise<boolean>,
    timeoutMs = CONDITION_MS,
  ): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    let lastError: unknown;
    for (;;) {
      try {
        if (await condition()) return;
      } catch (error) {
        lastError = error;
      }
      if (performance.now() > deadlineMs)
        throw new Error(
          `${what}: not within ${timeoutMs} ms\n--- the product's output ends:\n${this.lastOutput}`,
          { cause: lastError },
        );
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}
