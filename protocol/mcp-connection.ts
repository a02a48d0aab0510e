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
import { type EgressGuard, EgressRefused } from '#base/egress.ts';
import { programVersion } from '#base/program-version.ts';
import { LIMITS } from '#config/limits.ts';
import { type ListedTools, readServerTools, type ServerTool } from './server-tools.ts';

const VERSION = programVersion();
/** Pages of a list of tools. */
const LIST_PAGES = 16;
/** The deadlines are ours, by the clock; the library's own is out of the way. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** How long the farewell to a server may take. */
const CLOSE_MS = 1_000;
/** Header that names a request inside this file; it is never sent. */
const MARK = 'x-parley-request';
/** Characters of a server's error message that are passed on. */
const ERROR_CHARS = 300;

/** A failure of a connection. Its message names no header and no address and may be shown to tenants. */
export class McpFailure extends Error {
  /** False when the server itself refused one request: the next one may succeed on the same connection. */
  readonly isLost: boolean;

  constructor(message: string, { isLost }: { readonly isLost: boolean }) {
    super(message);
    this.name = 'McpFailure';
    this.isLost = isLost;
  }
}

/** A server to connect to. */
export interface McpServerAddress {
  readonly url: string;
  /** Client credentials (RFC 6749 §4.4), sent to this issuer only. */
  readonly oauth: {
    readonly issuer: string;
    readonly client_id: string;
    readonly client_secret: string;
    readonly scope: string;
  } | null;
}

/** Options of a connection. */
export interface McpConnectionOptions {
  readonly server: McpServerAddress;
  /** Headers of the next request; read at each one, because variables may change. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly egress: Pick<EgressGuard, 'fetch'>;
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
  // Loaded by those who use tool servers only.
  const library = await import('@modelcontextprotocol/client');
  const requests = new GuardedRequests(options);
  const { server, signal, onListChanged, clock } = options;
  const transport = new library.StreamableHTTPClientTransport(new URL(server.url), {
    fetch: requests.fetch,
    onInsufficientScope: 'throw',
    ...(server.oauth ? { authProvider: credentialsOf(library, server.oauth) } : {}),
  });
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
    await client.close().catch(() => undefined);
    throw signal.aborted ? signal.reason : failureOf(library, error, requests);
  }
  return new OpenConnection({ library, client, transport, requests, clock });
}

function credentialsOf(
  { ClientCredentialsProvider }: Library,
  { issuer, client_id, client_secret, scope }: NonNullable<McpServerAddress['oauth']>,
) {
  return new ClientCredentialsProvider({
    expectedIssuer: issuer,
    clientId: client_id,
    clientSecret: client_secret,
    ...(scope === '' ? {} : { scope }),
  });
}

type Library = typeof import('@modelcontextprotocol/client');

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
    for (let page = 0; page < LIST_PAGES && raw.length <= LIMITS.listedServerTools; page++) {
      // `client.listTools` would also cache the list and compile schemas of the server's.
      const params = cursor === undefined ? {} : { cursor };
      const { tools, nextCursor } = await this.#answer(signal, (request) =>
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
    return this.#answer(signal, (request) =>
      client.callTool(
        { name: tool.name, arguments: input },
        { ...request, onprogress: onProgress, toolDefinition },
      ),
    );
  }

  async close(): Promise<void> {
    const { client, transport, requests, clock } = this.#parts;
    const limit = new AbortController();
    const farewell = Promise.allSettled([requests.sent(), transport.terminateSession()]);
    await Promise.race([farewell, clock.sleep(CLOSE_MS, limit.signal).catch(() => undefined)]);
    limit.abort();
    await client.close().catch(() => undefined);
  }

  /** Sends one request. A response that breaks off ends it at once: the library would wait for ever. */
  async #answer<Value>(
    signal: AbortSignal,
    ask: (request: RequestOptions) => Promise<Value>,
  ): Promise<Value> {
    const { library, requests } = this.#parts;
    const stop = new AbortController();
    requests.takeRefusal();
    const { mark, broken } = requests.watch();
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

/** The connection's HTTP requests. */
class GuardedRequests {
  readonly #options: McpConnectionOptions;
  readonly #unanswered = new Set<Promise<unknown>>();
  readonly #watched = new Map<string, (error: unknown) => void>();
  #refusal: McpFailure | null = null;
  #marks = 0;

  constructor(options: McpConnectionOptions) {
    this.#options = options;
  }

  /** A mark for the headers of one request, and a promise that rejects if the body of its answer breaks. */
  watch(): { readonly mark: string; readonly broken: Promise<never> } {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.#marks += 1;
    const mark = String(this.#marks);
    this.#watched.set(mark, reject);
    return { mark, broken: promise };
  }

  unwatch(mark: string): void {
    this.#watched.delete(mark);
  }

  /** Why a request got no answer, if one did not since this was last asked. */
  takeRefusal(): McpFailure | null {
    const refusal = this.#refusal;
    this.#refusal = null;
    return refusal;
  }

  /** Settles when every request that is on its way has an answer. */
  sent(): Promise<unknown> {
    return Promise.allSettled(this.#unanswered);
  }

  readonly fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { egress, headers: ours, server } = this.#options;
    const headers = new Headers(init.headers);
    const mark = headers.get(MARK) ?? '';
    headers.delete(MARK);
    // The server's headers are not for the issuer of tokens.
    if (new URL(url).origin === new URL(server.url).origin)
      for (const [name, value] of Object.entries(ours())) if (!headers.has(name)) headers.set(name, value);
    // The guard returns undici's fetch, whose types differ from the platform's in name only.
    const send = egress.fetch as unknown as typeof globalThis.fetch;
    const answer = send(String(url), { ...init, headers: Object.fromEntries(headers) });
    this.#unanswered.add(answer);
    try {
      return this.#limited(await answer, (error) => this.#watched.get(mark)?.(error));
    } catch (error) {
      const message = networkText(error);
      if (message !== null) this.#refusal = new McpFailure(message, { isLost: true });
      throw error;
    } finally {
      this.#unanswered.delete(answer);
    }
  };

  /** The same answer, whose body fails beyond the limit without being read further. */
  #limited(response: Response, onBroken: (error: unknown) => void): Response {
    if (!response.body) return response;
    const reader = response.body.getReader();
    let bytes = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        try {
          const { value, done } = await reader.read();
          bytes += value?.byteLength ?? 0;
          if (bytes > LIMITS.serverResponseBytes) throw tooLong();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          reader.cancel(error).catch(() => undefined);
          controller.error(error);
          onBroken(error);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    });
    const { status, statusText } = response;
    return new Response(body, { status, statusText, headers: [...response.headers] });
  }
}

function tooLong(): McpFailure {
  const message = `the answer is longer than ${LIMITS.serverResponseBytes} bytes`;
  return new McpFailure(message, { isLost: false });
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
  return new McpFailure(lossText(library, error), { isLost: true });
}

function lossText(library: Library, error: unknown): string {
  if (error instanceof library.SdkHttpError) return `the server answered with HTTP ${error.status}`;
  if (error instanceof library.UnauthorizedError) return 'the server answered with HTTP 401';
  return 'the connection broke, or the server does not speak MCP over streamable HTTP';
}

/** Words for a request that got no answer; null for an unknown reason, such as an abort. */
function networkText(error: unknown): string | null {
  for (const each of [error, error instanceof Error ? error.cause : null]) {
    if (each instanceof EgressRefused) return each.message;
    const code = each instanceof Error && 'code' in each ? each.code : null;
    if (typeof code === 'string' && /^[A-Z][A-Z_]{1,40}$/.test(code))
      return `the connection failed (${code})`;
  }
  return null;
}
