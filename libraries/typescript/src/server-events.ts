/** Server-sent events. */

/** An event of a stream. */
export interface ServerEvent {
  readonly event: string;
  /** The parsed JSON. */
  readonly data: unknown;
}

/** A longer event is a fault of the server. */
const MAX_EVENT_CHARS = 64 * 1024 * 1024;

/** The events of an answer's body; their data must be JSON. Ends with the body. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const event = new EventLines();
  for await (const line of linesOf(body)) {
    const complete = event.add(line);
    if (complete) yield complete;
  }
}

/** Gathers the lines of an event until the empty line that completes it. */
class EventLines {
  #event = 'message';
  #data: string[] = [];

  add(line: string): ServerEvent | null {
    if (line === '') {
      const complete = this.#data.length > 0 ? this.#parsed() : null;
      this.#event = 'message';
      this.#data = [];
      return complete;
    }
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#event = value;
    if (field === 'data') this.#data.push(value);
    return null;
  }

  #parsed(): ServerEvent {
    return { event: this.#event, data: JSON.parse(this.#data.join('\n')) };
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let length = 0;
  for await (const bytes of body) {
    const [first = '', ...others] = decoder.decode(bytes, { stream: true }).split('\n');
    pieces.push(first);
    length += first.length;
    if (length > MAX_EVENT_CHARS) throw new RangeError('a line of the stream is too long');
    for (const next of others) {
      yield pieces.join('').replace(/\r$/, '');
      pieces = [next];
      length = next.length;
    }
  }
}
