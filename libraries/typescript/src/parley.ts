/** The client: all resources of the API, with one key. */
import { randomUUID } from 'node:crypto';
import { type Clock, machineClock } from './clock.ts';
import { ParleyError } from './errors.ts';
import { Resources } from './generated/resources.ts';
import { type RequestOptions, Transport } from './transport.ts';

/** Options of a client. */
export interface ParleyOptions {
  /** The key of an account; `PARLEY_API_KEY` unless set. */
  readonly apiKey?: string | undefined;
  /** Where Parley runs; `PARLEY_URL` unless set, or `http://127.0.0.1:8080`. */
  readonly baseUrl?: string | undefined;
  /** For each attempt; 60,000 unless set. */
  readonly timeoutMs?: number | undefined;
  /** How often a request is repeated; twice unless set. */
  readonly maxRetries?: number | undefined;
  /** A request whose `Retry-After` is longer fails at once; 60,000 unless set. */
  readonly longestRetryAfterMs?: number | undefined;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  readonly clock?: Clock;
  /** A number from 0 to 1. */
  readonly random?: () => number;
  /** A new idempotency key. */
  readonly newKey?: () => string;
}

/** A client of Parley's API. It holds no connection that must be closed. */
export class Parley extends Resources {
  readonly #transport: Transport;

  /** Throws `ParleyError` without a key, or for one that no header can have. */
  constructor(options: ParleyOptions = {}) {
    const apiKey = (options.apiKey ?? process.env['PARLEY_API_KEY'])?.trim();
    if (!apiKey) throw new ParleyError('no key: set apiKey or PARLEY_API_KEY');
    // `fetch` would refuse it with a message that contains the key.
    if (!/^[!-~]+$/.test(apiKey)) throw new ParleyError('the key has a character that no key has');
    const transport = new Transport({
      apiKey,
      baseUrl: options.baseUrl ?? process.env['PARLEY_URL'] ?? 'http://127.0.0.1:8080',
      timeoutMs: options.timeoutMs ?? 60_000,
      maxRetries: options.maxRetries ?? 2,
      longestRetryAfterMs: options.longestRetryAfterMs ?? 60_000,
      fetch: options.fetch ?? ((url, init) => fetch(url, init)),
      clock: options.clock ?? machineClock,
      random: options.random ?? Math.random,
      newKey: options.newKey ?? randomUUID,
    });
    super(transport);
    this.#transport = transport;
  }

  /** A file at an address that the API returned, such as a recording's. The key is not sent there. */
  download(url: string, options: RequestOptions = {}): Promise<Response> {
    return this.#transport.download(url, options);
  }
}
