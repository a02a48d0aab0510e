/**
 * The sessions of a simulated MCP server of 2025's revisions, made with the official library: each client
 * gets an id, a stream of its own, and the events that it has missed.
 */
import {
  type EventStore,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

const SESSION = 'mcp-session-id';

interface Session {
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** The client knows its id. */
  isKnown: boolean;
}

/** Options of the sessions. */
export interface SimulatedSessionsOptions {
  /** A new server for each session. */
  readonly instance: () => Server;
  /** False: `GET` is answered with 405. */
  readonly hasStreams: boolean;
}

/** The sessions of one server. */
export class SimulatedSessions {
  /** Sessions that a client has ended. */
  ended = 0;
  /** Requests with the id of a session that is gone. */
  refused = 0;
  /** Streams that were opened again after an event. */
  resumed = 0;
  readonly #options: SimulatedSessionsOptions;
  readonly #open = new Map<string, Session>();
  #begun = 0;

  constructor(options: SimulatedSessionsOptions) {
    this.#options = options;
  }

  /** Sessions whose client knows them, and has not ended them. */
  get left(): number {
    return [...this.#open.values()].filter(({ isKnown }) => isKnown).length;
  }

  async fetch(request: Request): Promise<Response> {
    const id = request.headers.get(SESSION);
    const known = id === null ? undefined : this.#open.get(id);
    if (id !== null && !known) {
      this.refused += 1;
      return new Response('session not found', { status: 404 });
    }
    if (request.method === 'GET' && !this.#options.hasStreams) return new Response(null, { status: 405 });
    if (request.headers.has('last-event-id')) this.resumed += 1;
    const { transport } = known ?? (await this.#begin());
    return transport.handleRequest(request);
  }

  /** The client has got this response. */
  received({ headers }: Response): void {
    const session = this.#open.get(headers.get(SESSION) ?? '');
    if (session) session.isKnown = true;
  }

  /** Tells every client that the list of tools has changed. */
  toolsChanged(): void {
    for (const { server } of this.#open.values()) server.sendToolListChanged().catch(() => undefined);
  }

  /** Forgets every session, as a server does that begins anew. */
  forget(): void {
    const gone = [...this.#open.values()];
    this.#open.clear();
    for (const { transport } of gone) void transport.close();
  }

  async #begin(): Promise<Session> {
    const server = this.#options.instance();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => {
        this.#begun += 1;
        return `session-${this.#begun}`;
      },
      onsessioninitialized: (id) => void this.#open.set(id, session),
      onsessionclosed: (id) => {
        this.ended += 1;
        this.#open.delete(id);
      },
      eventStore: keptEvents(),
      keepAliveMs: 0,
    });
    const session: Session = { server, transport, isKnown: false };
    await server.connect(transport);
    return session;
  }
}

/** Every event of a session, in order. */
function keptEvents(): EventStore {
  const events: { streamId: string; message: Parameters<EventStore['storeEvent']>[1] }[] = [];
  const streamOf = (id: string) => events[Number(id) - 1]?.streamId;
  return {
    storeEvent: async (streamId, message) => String(events.push({ streamId, message })),
    getStreamIdForEventId: async (id) => streamOf(id),
    replayEventsAfter: async (id, { send }) => {
      const streamId = streamOf(id) ?? '';
      for (const [index, event] of events.entries()) {
        // The first event of a stream has no message.
        const isMissed = index >= Number(id) && event.streamId === streamId && 'jsonrpc' in event.message;
        if (isMissed) await send(String(index + 1), event.message);
      }
      return streamId;
    },
  };
}
