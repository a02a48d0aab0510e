/**
 * The only guard of connections to addresses that tenants choose: webhooks, tools, custom models and speech.
 * Checks a URL as text, resolves its host, checks every address, and connects to a checked address. The check
 * is part of opening the connection, so a name that resolves differently later changes nothing.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Clock } from './clock.ts';
import { isPublicAddress, parseAllowList } from './public-address.ts';
import { Agent, buildConnector, fetch, type RequestInit, type Response } from './undici.ts';

/** Why a destination was refused. */
export type EgressRefusal =
  | 'malformed'
  | 'scheme'
  | 'credentials'
  | 'numeric_host'
  | 'not_public'
  | 'unresolvable'
  | 'operators_trunk';

/** Thrown for a forbidden destination; the message may be shown to tenants. */
export class EgressRefused extends Error {
  readonly reason: EgressRefusal;

  constructor(reason: EgressRefusal, message: string) {
    super(message);
    this.name = 'EgressRefused';
    this.reason = reason;
  }
}

/** A bounded request: `timeoutMs` covers everything up to the last byte, `maxBytes` limits the body kept. */
export interface GuardedRequest {
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** The answer; redirects are returned and never followed. */
export interface GuardedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The body was longer than `maxBytes`. */
  readonly isTruncated: boolean;
}

/** Outgoing HTTP to addresses that tenants choose. */
export interface EgressGuard {
  /**
   * Checks the text of a URL and a literal address in it, without resolving a name. Throws `EgressRefused`.
   */
  checkText(url: string): URL;
  /** Checks a URL like a connection would: text, resolution, addresses. Throws `EgressRefused`. */
  check(url: string): Promise<void>;
  /** True if plain http is acceptable instead of https: the host is listed in `EGRESS_ALLOW`. */
  allowsPlainHttp(url: string): Promise<boolean>;
  /**
   * `fetch` through the guard, without following redirects; rejects with `EgressRefused` as the cause if the
   * destination is forbidden.
   */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** One bounded request. Throws `EgressRefused`, the abort reason, or the network's error. */
  request(url: string, request: GuardedRequest): Promise<GuardedResponse>;
  /**
   * All addresses of a host, for a connection to `port` that is not HTTP. Throws `EgressRefused` unless all
   * of them are allowed.
   */
  addressesOf(host: string, port: number): Promise<readonly string[]>;
  /** The addresses of a host configured by the operator, without checks. */
  resolve(host: string): Promise<readonly string[]>;
  /** True if the operator has listed this host in `EGRESS_ALLOW`. */
  isNamed(host: string, port: number): boolean;
  /** True for an address that is public or allowed. */
  allowsAddress(address: string, port: number): boolean;
  close(): Promise<void>;
}

/** Options of the guard; tests replace the system's resolver by `resolve`. */
export interface EgressOptions {
  /** `EGRESS_ALLOW`. */
  readonly allow: readonly string[];
  readonly clock: Clock;
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** Thrown if a request took longer than its `timeoutMs`. */
export class EgressTimeout extends Error {
  constructor(timeoutMs: number) {
    super(`No complete answer within ${timeoutMs} ms`);
    this.name = 'EgressTimeout';
  }
}

/** Creates the guard of a process. */
export function createEgressGuard(options: EgressOptions): EgressGuard {
  const allowed = parseAllowList(options.allow);
  const resolve = options.resolve ?? systemResolve;

  const addressesIn = async (bare: string) => (isIP(bare) === 0 ? await resolve(bare) : [bare]);
  const allowsAddress = (address: string, port: number) =>
    isPublicAddress(address) || allowed.allowsAddress(address, port);

  /** The addresses to connect to, at least one; throws unless every address of the host is allowed. */
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
    // `fetch` hides connection errors behind a generic TypeError.
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
      // Leaving the loop cancels the stream, so an endless body costs no more than the limit.
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
  // 2130706433, 0177.1 and 0x7f000001 are all read as 127.0.0.1: an IPv4 host must be in the usual notation.
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
 * Names that are never public, whatever a resolver answers: RFC 6762 §3, and the top-level domain reserved
 * for private use, where clouds serve their metadata.
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
