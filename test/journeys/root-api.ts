/** The API as tests use it, with the root key. */

/** An answer of the API. */
export interface ApiAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: journeys look at whatever the API answers
  readonly body: any;
}

/** Requests to a control plane. */
export abstract class RootApi {
  abstract readonly url: string;
  abstract readonly rootKey: string;
  /** Generous, so that only a hang times out. */
  protected readonly answerMs: number = 15_000;

  /** Calls the API with the root key. Rejects only if no answer arrives. */
  async api(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ApiAnswer> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.rootKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(this.answerMs),
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
}
