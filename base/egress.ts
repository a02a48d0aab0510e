/**
 * The one guard of everything a tenant can make us connect to: webhooks, tools, custom models. A URL is
 * checked as text, its host resolved, every address checked, and the connection pinned to a checked address:
 * the check is part of opening the connection, so a name that changes its mind between check and use changes
 * nothing.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { Agent, buildConnector, fetch, type RequestInit, type Response } from 'undici';
import type { Clock } from './clock.ts';
import { isPublicAddress, parseAllowList } from './public-address.ts';

/** Why a destination was refused. */
export type EgressRefusal =
  | 'malformed'
  | 'scheme'
  | 'credentials'
  | 'numeric_host'
  | 'not_public'
  | 'unresolvable'
  | 'operators_trunk';

/** Thrown for a destination that may not be connected to; the message is fit for a tenant's eyes. */
export class EgressRefused extends Error {
  readonly reason: EgressRefusal;

  constructor(reason: EgressRefusal, message: string) {
    super(message);
    this.name = 'EgressRefused';
    this.reason = reason;
  }
}

/**
 * A bounded request: `timeoutMs` covers everything up to the last byte, `maxBytes` is how much of the body is
 * kept.
 */
export interface GuardedRequest {
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** What came back; a redirect is an answer like any other and is never followed. */
export interface GuardedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The body was longer than `maxBytes`. */
  readonly isTruncated: boolean;
}

/** Outgoing HTTP to addresses a tenant chose. */
export interface EgressGuard {
  /**
   * Checks the text of a URL and a literal address in it, without resolving a name. Throws `EgressRefused`.
   */
  checkText(url: string): URL;
  /** Checks a URL as a connection would be: text, resolution, addresses. Throws `EgressRefused`. */
  check(url: string): Promise<void>;
  /** True when plain http is acceptable where https is asked for: the host is named in `EGRESS_ALLOW`. */
  allowsPlainHttp(url: string): Promise<boolean>;
  /**
   * `fetch` through the guard, redirects not followed; rejects with `EgressRefused` as the cause when the
   * destination is refused.
   */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** One bounded request. Throws `EgressRefused`, the abort reason, or the network's error. */
  request(url: string, request: GuardedRequest): Promise<GuardedResponse>;
  /**
   * Every address of a host, for a connection to `port` that is not HTTP. Throws `EgressRefused` unless all
   * of them may be used.
   */
  addressesOf(host: string, port: number): Promise<readonly string[]>;
  /** The addresses of a host the operator has named: nothing is checked. */
  resolve(host: string): Promise<readonly string[]>;
  /** True when the operator has named this host in `EGRESS_ALLOW`. */
  isNamed(host: string, port: number): boolean;
  /** True for an address that is public or allowed. */
  allowsAddress(address: string, port: number): boolean;
  close(): Promise<void>;
}

/** What the guard is built from; `resolve` stands in for the system's resolver in tests. */
export interface EgressOptions {
  /** `EGRESS_ALLOW`. */
  readonly allow: readonly string[];
  readonly clock: Clock;
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** Thrown when a request took longer than its `timeoutMs`. */
export class EgressTimeout extends Error {
  constructor(timeoutMs: number) {
    super(`No complete answer within ${timeoutMs} ms`);
    this.name = 'EgressTimeout';
  }
}

/** Makes the guard of one process. */
export function createEgressGuard(options: EgressOptions): EgressGuard {
  const allowed = parseAllowList(options.allow);
  const resolve = options.resolve ?? systemResolve;

  const addressesIn = async (bare: string) => (isIP(bare) === 0 ? await resolve(bare) : [bare]);
  const allowsAddress = (address: string, port: number) =>
    isPublicAddress(address) || allowed.allowsAddress(address, port);

  /** The addresses to connect to, at least one; throws unless every address the host has may be used. */
  async function addressesOf(host: string, port: number): Promise<readonly string[]> {
    const bare = host.replace(/^\[|\]$/g, '');
    const addresses = await addressesIn(bare);
    if (addresses.length === 0) throw new EgressRefused('unresolvable', 'The host does not resolve');
    if (allowed.allowsName(bare, port) || addresses.every((address) => allowsAddress(address, port)))
      return addresses;
    throw new EgressRefused('not_public', 'The host is not a public address');
  }

  function checkText(text: string): URL {
    const url = parseUrl(text);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const port = portOf(url);
    if (allowed.allowsName(host, port) || (isIP(host) !== 0 && allowed.allowsAddress(host, port))) return url;
    const isLoopbackName = /(^|\.)localhost\.?$/i.test(host);
    if (isLoopbackName && allowed.allowsAddress('127.0.0.1', port)) return url;
    const isPrivate = isLoopbackName || isPrivateName(host) || (isIP(host) !== 0 && !isPublicAddress(host));
    if (isPrivate) throw new EgressRefused('not_public', 'The host is not a public address');
    return url;
  }

  const connectTo = buildConnector({ timeout: 10_000, allowH2: false });
  const agent = new Agent({
    connect(target, callback) {
      const port = Number(target.port) || (target.protocol === 'https:' ? 443 : 80);
      addressesOf(target.hostname, port).then(
        ([address = '']) => connectTo({ ...target, hostname: address }, callback),
        (error: Error) => callback(error, null),
      );
    },
  });

  const guardedFetch: EgressGuard['fetch'] = async (url, init = {}) => {
    const checked = checkText(String(url));
    return await fetch(checked, { ...init, dispatcher: agent, redirect: 'manual' });
  };

  return {
    checkText,
    check: async (text) => {
      const url = checkText(text);
      await addressesOf(url.hostname, portOf(url));
    },
    allowsPlainHttp: async (text) => {
      const url = parseUrl(text);
      const host = url.hostname.replace(/^\[|\]$/g, '');
      if (allowed.allowsName(host, portOf(url))) return true;
      const addresses = isIP(host) === 0 ? await resolve(host).catch(() => []) : [host];
      return (
        addresses.length > 0 && addresses.every((address) => allowed.allowsAddress(address, portOf(url)))
      );
    },
    fetch: guardedFetch,
    request: (url, request) => boundedRequest(guardedFetch, options.clock, url, request),
    addressesOf,
    resolve: addressesIn,
    isNamed: (host, port) => allowed.allowsName(host, port),
    allowsAddress,
    close: () => agent.destroy(),
  };
}

async function boundedRequest(
  guardedFetch: EgressGuard['fetch'],
  clock: Clock,
  url: string,
  request: GuardedRequest,
): Promise<GuardedResponse> {
  const controller = new AbortController();
  const timer = clock.after(request.timeoutMs, () => controller.abort(new EgressTimeout(request.timeoutMs)));
  const signal = request.signal ? AbortSignal.any([controller.signal, request.signal]) : controller.signal;
  try {
    const response = await guardedFetch(url, {
      method: request.method,
      headers: request.headers ?? {},
      ...(request.body === undefined ? {} : { body: request.body }),
      signal,
    });
    const { body, isTruncated } = await readAtMost(response, request.maxBytes);
    return { status: response.status, headers: Object.fromEntries(response.headers), body, isTruncated };
  } catch (error) {
    // `fetch` hides what happened on the connection behind a generic TypeError.
    const cause = error instanceof Error ? error.cause : undefined;
    throw cause instanceof Error ? cause : error;
  } finally {
    timer.cancel();
  }
}

async function readAtMost(
  response: Response,
  maxBytes: number,
): Promise<{ body: Buffer; isTruncated: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  if (response.body) {
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      chunks.push(chunk);
      length += chunk.byteLength;
      // Leaving the loop cancels the stream, so an endless body costs no more than its cap.
      if (length > maxBytes) break;
    }
  }
  const body = Buffer.concat(chunks);
  return { body: body.subarray(0, maxBytes), isTruncated: length > maxBytes };
}

function parseUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new EgressRefused('malformed', 'The URL is malformed');
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new EgressRefused('scheme', 'The URL must be http or https');
  if (url.username !== '' || url.password !== '')
    throw new EgressRefused('credentials', 'The URL must not contain credentials');
  // 2130706433, 0177.1 and 0x7f000001 are all read as 127.0.0.1: an IPv4 host must be written the one usual
  // way.
  if (isIP(url.hostname) === 4 && !hostAsWritten(text).startsWith(url.hostname))
    throw new EgressRefused('numeric_host', 'An IPv4 address must be written in dotted decimal form');
  return url;
}

function hostAsWritten(text: string): string {
  return /^\s*[a-z]+:[\\/]*([^\\/?#]*)/i.exec(text)?.[1] ?? '';
}

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
}

/**
 * Names that are never public, whatever a resolver says: RFC 6762 §3, and the top-level domain set aside for
 * private use, where clouds put their metadata.
 */
function isPrivateName(host: string): boolean {
  return /\.(local|internal)\.?$/i.test(host);
}

async function systemResolve(host: string): Promise<readonly string[]> {
  try {
    return (await lookup(host, { all: true })).map((entry) => entry.address);
  } catch (error) {
    throw new EgressRefused(
      'unresolvable',
      `The host does not resolve (${(error as NodeJS.ErrnoException).code ?? 'error'})`,
    );
  }
}
