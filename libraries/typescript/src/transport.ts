/** Sends the requests of the resources: address, key, timeout, repetitions, errors. */
import { type Clock, sleep } from './clock.ts';
import {
  ApiConnectionError,
  ApiError,
  ApiTimeoutError,
  errorOf,
  NotFoundError,
  TooManyRequestsError,
} from './errors.ts';
import { formOf } from './form.ts';
import { List, type Page } from './list.ts';
import { retryWaitMs } from './retry.ts';
import { readEvents, type ServerEvent } from './server-events.ts';
import { VERSION } from './version.ts';

/** Wait before a stream is opened again. */
const REOPEN_MS = 500;

/** A request of a method. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query?: object;
  readonly body?: unknown;
  readonly isForm?: true;
  /** Sending it twice has the effect of once. */
  readonly isRepeatable?: true;
  /** The route knows `Idempotency-Key`. */
  readonly takesKey?: true;
}

/** Options of one request. */
export interface RequestOptions {
  /** Gives up the request, or ends the reading of its answer. */
  readonly signal?: AbortSignal | undefined;
  /** For each attempt until its answer is read; of a stream until it begins. */
  readonly timeoutMs?: number | undefined;
  readonly maxRetries?: number | undefined;
  /** Your own name for what the request does, such as an order's number; a random one unless set. */
  readonly idempotencyKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What a transport needs. */
export interface TransportOptions {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  /** Longer times in `Retry-After` are not waited for. */
  readonly longestRetryAfterMs: number;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly clock: Clock;
  /** A number from 0 to 1. */
  readonly random: () => number;
  /** A new idempotency key. */
  readonly newKey: () => string;
}

interface Prepared {
  readonly call: Call;
  readonly url: string;
  readonly init: RequestInit;
  readonly options: RequestOptions;
  /** A repetition that finds nothing has succeeded. */
  readonly removes?: boolean;
}

/** Methods of one resource. */
export abstract class Resource {
  protected readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }
}

/** Sends requests, each with its own options over those of the transport. */
export class Transport {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /** The parsed answer. Throws `ApiError`, `ApiConnectionError`, or the reason of an aborted signal. */
  json<T>(call: Call, options: RequestOptions): Promise<T> {
    return this.#send(this.#prepare(call, options), async (response) => (await response.json()) as T);
  }

  /** Throws like `json`. A deletion that was repeated succeeds if the thing is gone. */
  async nothing(call: Call, options: RequestOptions): Promise<void> {
    const request = { ...this.#prepare(call, options), removes: call.method === 'DELETE' };
    await this.#send(request, async (response) => void (await response.text()));
  }

  /** An answer whose body is still to be read. Throws like `json`. */
  response(call: Call, options: RequestOptions): Promise<Response> {
    return this.#send(this.#prepare(call, options), async (response) => response);
  }

  /**
   * The events of a stream. One that may be read again has no end: it is opened anew when the API ends it or
   * the connection is lost. Throws like `json`, also while it is read.
   */
  async *events(call: Call, options: RequestOptions): AsyncGenerator<ServerEvent> {
    const { clock, random } = this.#options;
    do {
      const { body } = await this.response(call, options);
      try {
        if (body) yield* readEvents(body);
      } catch (error) {
        options.signal?.throwIfAborted();
        // A stream with an event that cannot be read would have it again.
        const isFaulty = error instanceof SyntaxError || error instanceof RangeError;
        if (isFaulty || !call.isRepeatable) throw lost(error);
      }
      if (call.isRepeatable) await sleep(clock, REOPEN_MS * (0.5 + random() / 2), options.signal);
    } while (call.isRepeatable);
  }

  /** A paged list, which is read while it is iterated. */
  list<P extends Page, Row>(
    call: Call,
    options: RequestOptions,
    rowsOf: (page: P) => readonly Row[],
  ): List<P, Row> {
    const read = (query: object) => this.json<P>({ ...call, query }, options);
    return new List(read, call.query ?? {}, rowsOf);
  }

  /** A file at an address that needs no key, such as the signed address of a recording. */
  download(url: string, options: RequestOptions): Promise<Response> {
    const call: Call = { method: 'GET', path: url, isRepeatable: true };
    const init = { method: 'GET', headers: { ...options.headers } };
    return this.#send({ call, url, init, options }, async (response) => response);
  }

  #prepare(call: Call, options: RequestOptions): Prepared {
    const { apiKey, baseUrl, newKey } = this.#options;
    const headers = new Headers({
      authorization: `Bearer ${apiKey}`,
      'user-agent': `parley-typescript/${VERSION}`,
    });
    // One key for all attempts.
    if (call.takesKey) headers.set('idempotency-key', options.idempotencyKey ?? newKey());
    const hasJson = call.body !== undefined && !call.isForm;
    if (hasJson) headers.set('content-type', 'application/json');
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
    const body = hasJson ? JSON.stringify(call.body) : call.isForm ? formOf(call.body) : null;
    const url = `${baseUrl.replace(/\/$/, '')}${call.path}${queryOf(call.query ?? {})}`;
    // A redirect would lose the body, and is not something the API does.
    return { call, url, options, init: { method: call.method, headers, body, redirect: 'manual' } };
  }

  async #send<T>(request: Prepared, read: (response: Response) => Promise<T>): Promise<T> {
    const { call, options } = request;
    const { clock, random, longestRetryAfterMs, maxRetries } = this.#options;
    let mayBeDone = false;
    for (let earlier = 0; ; earlier++) {
      try {
        return await this.#attempt(request, read);
      } catch (error) {
        // An earlier attempt, whose answer was lost, has deleted it.
        if (mayBeDone && request.removes && error instanceof NotFoundError)
          return read(new Response(null, { status: 204 }));
        const hasKey = call.takesKey === true;
        const failure = { error, earlier, hasKey, isRepeatable: hasKey || call.isRepeatable === true };
        const isLast = earlier >= (options.maxRetries ?? maxRetries);
        const waitMs = isLast ? null : retryWaitMs(failure, random(), longestRetryAfterMs);
        if (waitMs === null) throw error;
        mayBeDone ||= !(error instanceof TooManyRequestsError);
        await sleep(clock, waitMs, options.signal);
      }
    }
  }

  async #attempt<T>({ url, init, options }: Prepared, read: (response: Response) => Promise<T>): Promise<T> {
    const { clock, fetch } = this.#options;
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs;
    const limit = new AbortController();
    const timer = clock.after(timeoutMs, () =>
      limit.abort(new ApiTimeoutError(`no answer within ${timeoutMs} ms`)),
    );
    const signal = options.signal ? AbortSignal.any([limit.signal, options.signal]) : limit.signal;
    try {
      const response = await fetch(url, { ...init, signal });
      if (!response.ok) throw await errorOf(response, clock.wallTime());
      return await read(response);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      options.signal?.throwIfAborted();
      limit.signal.throwIfAborted();
      throw lost(error);
    } finally {
      timer.cancel();
    }
  }
}

function lost(cause: unknown): ApiConnectionError {
  // `fetch` says only that it failed; its cause says why.
  const { message } = cause instanceof Error && cause.cause instanceof Error ? cause.cause : (cause as Error);
  return new ApiConnectionError(`no usable answer: ${message}`, { cause });
}

/** A path with its parameters. Throws `TypeError` for one that would name another route. */
export function route(parts: TemplateStringsArray, ...parameters: readonly (string | number)[]): string {
  const texts = parameters.map((parameter) => {
    const text = String(parameter);
    if (text === '' || text === '.' || text === '..') throw new TypeError(`'${text}' is no id`);
    return encodeURIComponent(text);
  });
  return String.raw({ raw: parts }, ...texts);
}

function queryOf(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const item of [value].flat())
      if (item !== undefined && item !== null) parameters.append(name, String(item));
  return parameters.size === 0 ? '' : `?${parameters}`;
}
