/**
 * Server-sent events read from a response (WHATWG HTML, section 9.2): an EventSource can send neither a key
 * nor a body. Each event of Parley is a name and one line of JSON; comments in between are skipped.
 */

/** One event. */
export interface StreamEvent {
  readonly name: string;
  readonly data: unknown;
}

/** The events of a response as they arrive, until it ends. Rejects when the connection breaks. */
export async function* eventsOf(response: Response): AsyncGenerator<StreamEvent> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = '';
  try {
    for (;;) {
      const part = await reader?.read();
      if (!part || part.done) return;
      const messages = (waiting + part.value).split('\n\n');
      waiting = messages.pop() ?? '';
      for (const message of messages) {
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(message) ?? [];
        if (name !== undefined && data !== undefined) yield { name, data: JSON.parse(data) };
      }
    }
  } finally {
    // A reader that has heard enough leaves no connection open; of a broken one nothing is left to end.
    void reader?.cancel().catch(() => undefined);
  }
}
