/**
 * The HTTP requests of one connection to an MCP server: through the egress guard, with the tenant's headers,
 * and under limits. A hostile server decides how often it is answered and when a stream is opened again, so
 * both are bounded here.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import { LIMITS } from '#config/limits.ts';
import { AnswerStructure } from './answer-structure.ts';
import { McpFailure, networkText } from './mcp-failure.ts';

/** Header that names a request inside this process; it is never sent. */
export const MARK = 'x-parley-request';
const FIRST_RECONNECT_MS = 1_000;
const LONGEST_RECONNECT_MS = 30_000;
/** Streams opened again with the same pause. */
const RECONNECTS_A_STEP = 8;
/** An answer that has not been read this long after the end of its stream was not in it. */
const UNANSWERED_MS = 1_000;
/** An event with an id, so that the stream can be resumed after it. */
const EVENT_ID = /[\r\n]id:/;
/** Header with the session's id, in the revisions of 2025. */
const SESSION = 'mcp-session-id';
/** Status for a session that the server does not know. */
export const NOT_FOUND = 404;
const OPENING_BRACKET = 0x5b;
const SPACE = 0x20;

/** Bytes that are read of the answers to one question; its requests share it. */
export class ReadLimit {
  readonly #most: number;
  #read = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Throws `McpFailure` beyond the limit. */
  take(bytes: number): void {
    this.#read += bytes;
    if (this.#read > this.#most)
      throw new McpFailure(`the answer is longer than ${this.#most} bytes`, { isLost: false });
  }
}

/** Options of the requests. */
export interface GuardedRequestsOptions {
  readonly server: { readonly url: string };
  /** Headers of the next request; read at each one, because variables may change. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly egress: Pick<EgressGuard, 'fetch'>;
  readonly clock: Clock;
  /** The server's list may have changed. */
  readonly onListChanged?: () => void;
}

interface Watch {
  readonly limit: ReadLimit;
  readonly onBroken: (error: unknown) => void;
  /** The stream of its answer has ended. */
  readonly onStreamEnd: () => void;
  /** Since then. */
  unanswered: Timer | null;
}

/** The connection's HTTP requests. */
export class GuardedRequests {
  readonly #options: GuardedRequestsOptions;
  readonly #unanswered = new Set<Promise<unknown>>();
  readonly #watched = new Map<string, Watch>();
  readonly #ended = new AbortController();
  #refusal: McpFailure | null = null;
  #isSessionGone = false;
  #marks = 0;
  #open = 0;
  #reconnects = 0;

  constructor(options: GuardedRequestsOptions) {
    this.#options = options;
  }

  /** A mark for the headers of one request, and a promise that rejects if the body of its answer breaks. */
  watch(limit: ReadLimit): { readonly mark: string; readonly broken: Promise<never> } {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.#marks += 1;
    const mark = String(this.#marks);
    const unanswered = new McpFailure('the stream ended without an answer', { isLost: true });
    const watch: Watch = {
      limit,
      onBroken: reject,
      onStreamEnd: () => {
        watch.unanswered ??= this.#options.clock.after(UNANSWERED_MS, () => reject(unanswered));
      },
      unanswered: null,
    };
    this.#watched.set(mark, watch);
    return { mark, broken: promise };
  }

  unwatch(mark: string): void {
    this.#watched.get(mark)?.unanswered?.cancel();
    this.#watched.delete(mark);
  }

  /** Whether the server has answered that it does not know the session. */
  get isSessionGone(): boolean {
    return this.#isSessionGone;
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

  /** Opens a stream again after `delayMs`, or later: the server names the delay, and may name none. */
  reconnectLater(reconnect: () => void, delayMs: number): void {
    const leastMs = FIRST_RECONNECT_MS * 2 ** Math.floor(this.#reconnects / RECONNECTS_A_STEP);
    this.#reconnects += 1;
    const waitMs = Math.min(Math.max(delayMs, leastMs), LONGEST_RECONNECT_MS);
    this.#options.clock.sleep(waitMs, this.#ended.signal).then(reconnect, () => undefined);
  }

  /** Aborts whatever is open, also requests for tokens, which the library does not abort. */
  end(): void {
    this.#ended.abort(new McpFailure('the connection is closed', { isLost: true }));
  }

  readonly fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    if (this.#open >= LIMITS.serverOpenRequests)
      throw new McpFailure('too many requests to the server are open', { isLost: true });
    const { egress } = this.#options;
    const headers = new Headers(init.headers);
    const watch = this.#watched.get(headers.get(MARK) ?? '');
    headers.delete(MARK);
    // Requests for tokens read any answer as JSON. A tenant's own `accept` is no part of this.
    const mayStream = headers.get('accept')?.includes('text/event-stream') === true;
    this.#addOurs(url, headers);
    const signal = AbortSignal.any([this.#ended.signal, ...(init.signal ? [init.signal] : [])]);
    const release = this.#taken(signal);
    // The guard returns undici's fetch, whose types differ from the platform's in name only.
    const send = egress.fetch as unknown as typeof globalThis.fetch;
    const answer = send(String(url), { ...init, signal, headers: Object.fromEntries(headers) });
    this.#unanswered.add(answer);
    try {
      const response = await answer;
      if (response.status === NOT_FOUND && headers.has(SESSION)) this.#onUnknown(init.method);
      return limited(response, { mayStream, watch: watch ?? null, onEnd: release });
    } catch (error) {
      release();
      const message = networkText(error);
      if (message !== null) this.#refusal = new McpFailure(message, { isLost: true });
      throw error;
    } finally {
      this.#unanswered.delete(answer);
    }
  };

  /**
   * The server does not know the session; or, of a stream, has none. Without its stream it could not say that
   * its list has changed, so the list is read, which shows whether the session is gone.
   */
  #onUnknown(method: string | undefined): void {
    if (method === 'GET') this.#options.onListChanged?.();
    else this.#isSessionGone = true;
  }

  /** Adds the server's headers, which are not for the issuer of tokens. */
  #addOurs(url: string | URL, headers: Headers): void {
    const { headers: ours, server } = this.#options;
    if (new URL(url).origin !== new URL(server.url).origin) return;
    try {
      for (const [name, value] of Object.entries(ours())) if (!headers.has(name)) headers.set(name, value);
    } catch {
      this.#refusal = new McpFailure('the value of a header is too long, or has characters beyond Latin-1', {
        isLost: true,
      });
      throw this.#refusal;
    }
  }

  /** Counts an open request until the returned function is called, or the request is aborted. */
  #taken(signal: AbortSignal): () => void {
    let isOpen = true;
    this.#open += 1;
    const release = () => {
      if (isOpen) this.#open -= 1;
      isOpen = false;
      signal.removeEventListener('abort', release);
    };
    signal.addEventListener('abort', release, { once: true });
    return release;
  }
}

/** The same answer, whose body fails beyond the limit without being read further. */
function limited(
  response: Response,
  { mayStream, watch, onEnd }: { mayStream: boolean; watch: Watch | null; onEnd: () => void },
): Response {
  const { status, statusText, body } = response;
  const headers = [...response.headers] as [string, string][];
  // The body of a redirect is of no use, and would hold the connection.
  if (!body || (status >= 300 && status < 400)) {
    body?.cancel().catch(() => undefined);
    onEnd();
    return new Response(null, { status, statusText, headers });
  }
  const limit = watch?.limit ?? new ReadLimit(LIMITS.serverStreamBytes);
  const isEventStream =
    mayStream && /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
  const structure = new AnswerStructure({ isEventStream });
  let isBegun = isEventStream;
  let isResumable = false;
  let last = '\n';
  const noteIds = (bytes: Uint8Array) => {
    const text = last + Buffer.from(bytes).toString('latin1');
    isResumable ||= EVENT_ID.test(text);
    last = text.slice(-3);
  };
  const reader = body.getReader();
  const read = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const { value, done } = await reader.read();
    if (done) {
      onEnd();
      controller.close();
      // The library opens a stream again after an event with an id, and waits for any other answer for ever.
      if (isEventStream && !isResumable) watch?.onStreamEnd();
      return;
    }
    if (isEventStream && !isResumable) noteIds(value);
    limit.take(value.byteLength);
    const first = isBegun ? undefined : value.find((byte: number) => byte > SPACE);
    isBegun ||= first !== undefined;
    // All messages of a batch would be handled at once, and one request has one answer.
    if (first === OPENING_BRACKET)
      throw new McpFailure('the server answered with a batch', { isLost: false });
    if (!structure.accepts(value))
      throw new McpFailure('the answer has too many parts or levels', { isLost: false });
    controller.enqueue(value);
  };
  const limitedBody = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        await read(controller);
      } catch (error) {
        onEnd();
        reader.cancel(error).catch(() => undefined);
        controller.error(error);
        if (!isResumable || error instanceof McpFailure) watch?.onBroken(error);
      }
    },
    cancel: (reason) => {
      onEnd();
      return reader.cancel(reason);
    },
  });
  return new Response(limitedBody, { status, statusText, headers });
}
