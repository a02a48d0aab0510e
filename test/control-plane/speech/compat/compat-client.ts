/** Test clients of the compatible surfaces: multipart forms, and WebSockets with JSON messages. */
import { once } from 'node:events';
import WebSocket from 'ws';
import type { TestApi } from '../../test-api.ts';

// biome-ignore lint/suspicious/noExplicitAny: messages of the wire
type Heard = any;

/** Posts a multipart form; bytes become files. */
export async function postForm(
  api: TestApi,
  url: string,
  { fields, headers }: { fields: Record<string, unknown>; headers: Record<string, string> },
) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    form.append(name, value instanceof Uint8Array ? new Blob([new Uint8Array(value)]) : String(value));
  const body = new Request('http://parley', { method: 'POST', body: form });
  const response = await api.app.inject({
    method: 'POST',
    url,
    headers: { 'content-type': body.headers.get('content-type') ?? '', ...headers },
    payload: Buffer.from(await body.arrayBuffer()),
  });
  const isJson = String(response.headers['content-type']).startsWith('application/json');
  return {
    status: response.statusCode,
    headers: response.headers,
    text: response.body,
    body: isJson ? response.json() : null,
  };
}

/** A WebSocket with JSON messages. */
export class JsonSocket {
  readonly socket: WebSocket;
  readonly messages: Heard[] = [];
  #wake: () => void = () => {};

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer) => {
      this.messages.push(JSON.parse(data.toString()));
      this.#wake();
    });
    socket.on('close', () => this.#wake());
  }

  static async open(url: string, headers: Record<string, string>): Promise<JsonSocket> {
    const socket = new JsonSocket(new WebSocket(url, { headers }));
    await once(socket.socket, 'open');
    return socket;
  }

  send(...messages: object[]): void {
    for (const message of messages) this.socket.send(JSON.stringify(message));
  }

  /** Returns the first matching message, including those already received, and drops it and all before it. */
  async next(meets: (message: Heard) => boolean): Promise<Heard> {
    for (;;) {
      const at = this.messages.findIndex(meets);
      if (at !== -1) return this.messages.splice(0, at + 1).at(-1);
      if (this.socket.readyState === WebSocket.CLOSED) throw new Error('closed');
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Resolves with the close code. */
  async closed(): Promise<number> {
    if (this.socket.readyState === WebSocket.CLOSED) throw new Error('closed before it was awaited');
    const [code] = await once(this.socket, 'close');
    return code as number;
  }
}

/** Returns the refusal of an upgrade. */
export async function refusedUpgrade(
  url: string,
  headers: Record<string, string>,
): Promise<{ status: number; retryAfter: string | undefined; body: Heard }> {
  const [, response] = await once(new WebSocket(url, { headers }), 'unexpected-response');
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part);
  return {
    status: response.statusCode,
    retryAfter: response.headers['retry-after'],
    body: JSON.parse(Buffer.concat(parts).toString()),
  };
}
