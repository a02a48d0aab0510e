/**
 * A connection to a tenant's MCP server over streamable HTTP, through the egress guard. Speaks the revision
 * of 2026-07-28 (without sessions) and those of 2025 (with them): the server's answer to `server/discover`
 * decides. Answers are read up to a limit, and none of what the server says is trusted.
 * https://modelcontextprotocol.io/specification
 */
import type {
  Client,
  RequestOptions,
  StreamableHTTPClientTransport,
  Tool,
} from '@modelcontextprotocol/client';
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import { programVersion } from '#base/program-version.ts';
import { LIMITS } from '#config/limits.ts';
import { McpFailure } from './mcp-failure.ts';
import { GuardedRequests, MARK, NOT_FOUND, ReadLimit } from './mcp-requests.ts';
import type { McpServerAddress, McpTokens } from './mcp-tokens.ts';
import { type ListedTools, readServerTools, type ServerTool } from './server-tools.ts';

const VERSION = programVersion();
/** Pages of a list of tools. */
const LIST_PAGES = 16;
/** The deadlines are ours, by the clock; the library's own is out of the way. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** How long the farewell to a server may take. */
const CLOSE_MS = 1_000;
/** A stream is opened again as long as the connection is open; `GuardedRequests` makes the pauses. */
const RECONNECTION = {
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: Number.POSITIVE_INFINITY,
};
/** Characters of a server's error message that are passed on. */
const ERROR_CHARS = 300;

/** Options of a connection. */
export interface McpConnectionOptions {
  readonly server: McpServerAddress;
  /** Headers of the next request; read at each one, because variables may change. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly egress: Pick<EgressGuard, 'fetch'>;
  /** Tokens of servers with OAuth, shared by the process. */
  readonly tokens: McpTokens;
  readonly clock: Clock;
  /** Ends the attempt to connect. */
  readonly signal: AbortSignal;
  /** The server says that its list of tools has changed. */
  readonly onListChanged?: () => void;
}

/** One tool call's answer. */
export type McpAnswer = Awaited<ReturnType<Client['callTool']>>;

/** An open connection. */
export interface McpConnection {
  /** Protocol revision, for example `2026-07-28`. */
  readonly protocolVersion: string;
  /** Throws when the server does not answer with a list. */
  listTools(signal: AbortSignal): Promise<ListedTools>;
  /**
   * Calls a tool. An abort of the signal tells the server (`notifications/cancelled` in the revisions of
   * 2025, the closed request later) and rejects.
   */
  callTool(
    tool: ServerTool,
    input: Record<string, unknown>,
    options: { readonly signal: AbortSignal; readonly onProgress: () => void },
  ): Promise<McpAnswer>;
  /** Ends the session, if the server keeps one. Never rejects. */
  close(): Promise<void>;
}

/** Connects. Throws `McpFailure`, or the signal's reason. */
export async function openMcpConnection(options: McpConnectionOptions): Promise<McpConnection> {
  const library = await loaded();
  const requests = new GuardedRequests(options);
  const { server, signal, onListChanged, clock, tokens } = options;
  const authProvider = tokens.providerFor(library, server);
  const openTransport = (session: TransportSession = {}) =>
    new library.StreamableHTTPClientTransport(new URL(server.url), {
      fetch: requests.fetch,
      onInsufficientScope: 'throw',
      reconnectionScheduler: (reconnect, delayMs) => requests.reconnectLater(reconnect, delayMs),
      reconnectionOptions: RECONNECTION,
      ...(authProvider ? { authProvider } : {}),
      ...session,
    });
  const transport = openTransport();
  const client = new library.Client(
    { name: 'parley', version: VERSION },
    {
      versionNegotiation: { mode: 'auto' },
      inputRequired: { autoFulfill: false },
      ...(onListChanged
        ? { listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => onListChanged() } } }
        : {}),
    },
  );
  try {
    await abortable(client.connect(transport, { signal, timeout: NO_TIMEOUT_MS }), signal);
  } catch (error) {
    const failure = signal.aborted ? signal.reason : failureOf(library, error, requests);
    const { protocolVersion, sessionId } = transport;
    // The library ends its requests with the attempt: another transport tells the server of the end.
    if (sessionId === undefined) requests.end();
    else {
      const revision = protocolVersion === undefined ? {} : { protocolVersion };
      void endSession(openTransport({ sessionId, ...revision }), requests, clock);
    }
    await client.close().catch(() => undefined);
    throw failure;
  }
  return new OpenConnection({ library, client, transport, requests, clock });
}

/** A session that was begun over another transport. */
interface TransportSession {
  readonly sessionId?: string;
  readonly protocolVersion?: string;
}

/** Ends the session, if the server keeps one and answers in time; then whatever is open. Never rejects. */
async function endSession(
  transport: StreamableHTTPClientTransport,
  requests: GuardedRequests,
  clock: Clock,
): Promise<void> {
  const limit = new AbortController();
  const told = requests.isSessionGone ? Promise.resolve() : transport.terminateSession();
  const farewell = Promise.allSettled([requests.sent(), told]);
  await Promise.race([farewell, clock.sleep(CLOSE_MS, limit.signal).catch(() => undefined)]);
  limit.abort();
  requests.end();
}

type Library = typeof import('@modelcontextprotocol/client');

let loading: Promise<Library> | null = null;

/** The library, for those who use tool servers only; the module loader is asked once. */
function loaded(): Promise<Library> {
  loading ??= import('@modelcontextprotocol/client');
  return loading;
}

interface Parts {
  readonly library: Library;
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  readonly requests: GuardedRequests;
  readonly clock: Clock;
}

class OpenConnection implements McpConnection {
  readonly protocolVersion: string;
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.protocolVersion = parts.client.getNegotiatedProtocolVersion() ?? '';
  }

  async listTools(signal: AbortSignal): Promise<ListedTools> {
    const { client } = this.#parts;
    if (!client.getServerCapabilities()?.tools) return { tools: [], refused: [] };
    const raw: unknown[] = [];
    let cursor: string | undefined;
    const limit = new ReadLimit(LIMITS.serverListAnswerBytes);
    for (let page = 0; page < LIST_PAGES && raw.length <= LIMITS.listedServerTools; page++) {
      // `client.listTools` would also cache the list and compile schemas of the server's.
      const params = cursor === undefined ? {} : { cursor };
      const { tools, nextCursor } = await this.#answer(signal, limit, (request) =>
        client.request({ method: 'tools/list', params }, request),
      );
      raw.push(...tools);
      if (nextCursor === undefined) break;
      cursor = nextCursor;
    }
    return readServerTools(raw);
  }

  callTool(
    tool: ServerTool,
    input: Record<string, unknown>,
    { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: () => void },
  ): Promise<McpAnswer> {
    // With a definition that has no output schema, the library compiles none.
    const toolDefinition = {
      name: tool.name,
      inputSchema: JSON.parse(tool.input_schema) as Tool['inputSchema'],
    };
    const { client } = this.#parts;
    return this.#answer(signal, new ReadLimit(LIMITS.serverResponseBytes), (request) =>
      client.callTool(
        { name: tool.name, arguments: input },
        { ...request, onprogress: onProgress, toolDefinition },
      ),
    );
  }

  async close(): Promise<void> {
    const { client, transport, requests, clock } = this.#parts;
    await endSession(transport, requests, clock);
    await client.close().catch(() => undefined);
  }

  /** Sends one request. A response that breaks off ends it at once: the library would wait for ever. */
  async #answer<Value>(
    signal: AbortSignal,
    limit: ReadLimit,
    ask: (request: RequestOptions) => Promise<Value>,
  ): Promise<Value> {
    const { library, requests } = this.#parts;
    const stop = new AbortController();
    requests.takeRefusal();
    const { mark, broken } = requests.watch(limit);
    const request: RequestOptions = {
      signal: AbortSignal.any([signal, stop.signal]),
      timeout: NO_TIMEOUT_MS,
      headers: { [MARK]: mark },
    };
    try {
      return await abortable(Promise.race([ask(request), broken]), signal);
    } catch (error) {
      const failure = signal.aborted ? signal.reason : failureOf(library, error, requests);
      stop.abort(failure);
      throw failure;
    } finally {
      requests.unwatch(mark);
    }
  }
}

/** Rejects with the signal's reason as soon as it aborts, whatever the library does. */
function abortable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Words for whatever the library throws; the guard and the limits know better. */
function failureOf(library: Library, error: unknown, requests: GuardedRequests): McpFailure {
  const refusal = requests.takeRefusal();
  if (refusal) return refusal;
  if (error instanceof McpFailure) return error;
  if (error instanceof library.ProtocolError)
    return new McpFailure(`the server answered with an error: ${error.message.slice(0, ERROR_CHARS)}`, {
      isLost: false,
    });
  const isSessionGone =
    requests.isSessionGone && error instanceof library.SdkHttpError && error.status === NOT_FOUND;
  return new McpFailure(lossText(library, error), { isLost: true, isSessionGone });
}

function lossText(library: Library, error: unknown): string {
  if (error instanceof library.SdkHttpError) return `the server answered with HTTP ${error.status}`;
  if (error instanceof library.UnauthorizedError) return 'the server answered with HTTP 401';
  return 'the connection broke, or the server does not speak MCP over streamable HTTP';
}
