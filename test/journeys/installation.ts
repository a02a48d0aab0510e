/** What tests ask of a running product, whether it is one program or several. */

/** Generous, so that only a hang times out. */
const CONDITION_MS = 60_000;
const ANSWER_MS = 15_000;

/** An answer of the API. */
export interface ApiAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: journeys look at whatever the API answers
  readonly body: any;
}

/** A running product. */
export abstract class Installation {
  abstract readonly url: string;
  abstract readonly rootKey: string;
  abstract readonly sipPort: number;
  /** The demo agent's number. */
  abstract readonly number: string;

  /** The end of its output, for the message of a failure. */
  protected abstract get lastOutput(): string;

  /** SIP address of a number, by default the demo agent's. */
  sipAddress(number = this.number): string {
    return `sip:${number}@127.0.0.1:${this.sipPort}`;
  }

  /** Calls the API with the root key. Rejects only if no answer arrives. */
  async api(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.rootKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return { status: response.status, body: isJson && text !== '' ? JSON.parse(text) : text };
  }

  /** Like `api`, but throws unless the answer is a success. */
  async ask(method: string, path: string, body?: unknown): Promise<ApiAnswer['body']> {
    const answer = await this.api(method, path, body);
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
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
