/**
 * Common base of the language-model stand-ins: a server on a real socket that answers a POST with server-sent
 * events and records the requests. It can refuse, go silent or cut the connection.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenLocally } from './local-server.ts';

/** Fault for requests while it is set; `body` faults occur after the first piece of text. */
export type SseFault =
  | SseRefusal
  | { readonly halfOpen: 'headers' | 'body' }
  | { readonly cut: 'headers' | 'body' }
  /** The vendor's own error event, in the middle of the stream. */
  | { readonly event: 'overloaded' };

/** A request as it arrived. */
export interface SseRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly json: Record<string, unknown>;
}

/** The running server. */
export interface SseServer {
  /** Without a path. */
  readonly url: string;
  readonly requests: readonly SseRequest[];
  fault: SseFault | null;
  close(): Promise<void>;
}

/**
 * An answer framed as the vendor frames it: `events` are whole SSE events. A body fault occurs before the
 * event with the index `faultAt`.
 */
export interface SseAnswer {
  readonly events: readonly string[];
  readonly faultAt: number;
  /** Event that replaces the rest of the answer for `fault.event`. */
  readonly overloaded: string;
}

/** A refusal by the vendor. */
export interface SseRefusal {
  readonly status: number;
  readonly body: unknown;
}

/** Starts a server that frames its answers with `answer`. */
export async function startSseServer(
  answer: (request: SseRequest, index: number) => SseAnswer | SseRefusal,
): Promise<SseServer> {
  const requests: SseRequest[] = [];
  let fault: SseFault | null = null;
  const server = createServer((request, response) => {
    void serve(request, response).catch(() => response.destroy());
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const seen = {
      path: request.url ?? '',
      headers: request.headers,
      json: JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>,
    };
    const index = requests.push(seen) - 1;
    if (strikes('headers', response)) return;
    const answered = fault && 'status' in fault ? fault : answer(seen, index);
    if ('status' in answered) {
      response.writeHead(answered.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answered.body));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await stream(answered, response);
  }

  async function stream({ events, faultAt, overloaded }: SseAnswer, response: ServerResponse): Promise<void> {
    for (const [position, event] of events.entries()) {
      if (position === faultAt && fault) {
        // Lets the bytes written so far leave before the fault.
        await new Promise((resolve) => setTimeout(resolve, 20));
        if ('event' in fault) response.end(overloaded);
        if ('event' in fault || strikes('body', response)) return;
      }
      response.write(event);
    }
    response.end();
  }

  function strikes(place: 'headers' | 'body', response: ServerResponse): boolean {
    if (fault === null) return false;
    if ('cut' in fault && fault.cut === place) response.destroy();
    return ('cut' in fault ? fault.cut : 'halfOpen' in fault ? fault.halfOpen : null) === place;
  }

  const { port, close } = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    get fault() {
      return fault;
    },
    set fault(value) {
      fault = value;
    },
    close,
  };
}
