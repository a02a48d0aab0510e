/**
 * Access tokens for tenants' MCP servers by client credentials (RFC 6749, section 4.4), kept for their life
 * and shared by all connections of a process. A refresh token is not used: an issuer gives none with this
 * grant (section 4.4.3), so a new token is asked for.
 */
import { createHash } from 'node:crypto';
import type { AuthProvider } from '@modelcontextprotocol/client';
import type { Clock } from '#base/clock.ts';
import { LIMITS } from '#config/limits.ts';
import { McpFailure } from './mcp-failure.ts';

/** A token is not used in the last part of its life, which a request on its way would outlast. */
const MARGIN_MS = 30_000;
/** Of a token whose life is shorter than the margin, this share is used. */
const USED_SHARE = 0.5;
/** The request that a token was asked for sends it, even if its issuer says that its life is over. */
const SHORTEST_USE_MS = 1_000;
/** Life of a token whose issuer names none, and the longest that is believed. */
const UNNAMED_LIFE_MS = 3_600_000;
const LONGEST_LIFE_MS = 86_400_000;
/** A server that refuses a token so young would refuse the next one too: its issuer is not asked again. */
const YOUNG_MS = 30_000;

/** A server to connect to. */
export interface McpServerAddress {
  /** Tokens are kept for this server only, which belongs to one account. */
  readonly tool_server_id: string;
  readonly url: string;
  /** Client credentials (RFC 6749 §4.4), sent to this issuer only. */
  readonly oauth: {
    readonly issuer: string;
    readonly client_id: string;
    readonly client_secret: string;
    readonly scope: string;
  } | null;
}

type Library = typeof import('@modelcontextprotocol/client');
type Credentials = NonNullable<McpServerAddress['oauth']>;

/** The grant of an issuer (RFC 6749, section 5.1); its library has parsed it. */
interface Granted {
  readonly access_token: string;
  readonly expires_in?: number | undefined;
}

interface Kept {
  readonly value: string;
  readonly grantedAtMs: number;
  readonly untilMs: number;
}

/** The tokens of one process. */
export class McpTokens {
  readonly #clock: Pick<Clock, 'now'>;
  /** By a hash of server and credentials, the oldest first. */
  readonly #kept = new Map<string, Kept>();
  readonly #renewals = new Map<string, Promise<void>>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** The tokens of one connection: sent with each request, and renewed once when the server refuses one. */
  providerFor(library: Library, server: McpServerAddress): AuthProvider | null {
    const { oauth } = server;
    if (!oauth) return null;
    const key = keyOf(server, oauth);
    return {
      token: async () => this.#valid(key)?.value,
      onUnauthorized: async ({ response, serverUrl, fetchFn }) => {
        const current = this.#valid(key);
        // Sent once more, since another request may have renewed it while this one was on its way.
        if (current && this.#clock.now() - current.grantedAtMs < YOUNG_MS) return;
        this.#kept.delete(key);
        const named = library.extractWWWAuthenticateParams(response);
        await this.#renewOnce(key, async () => {
          await library.auth(this.#grantFor(library, key, oauth), { serverUrl, fetchFn, ...named });
        });
      },
    };
  }

  #valid(key: string): Kept | undefined {
    const kept = this.#kept.get(key);
    return kept && this.#clock.now() < kept.untilMs ? kept : undefined;
  }

  /** Connections that need the same token at once ask for it once. */
  async #renewOnce(key: string, renew: () => Promise<void>): Promise<void> {
    const running = this.#renewals.get(key);
    if (running !== undefined) {
      // The connection that asks may have been closed: then this one asks itself.
      await running.catch(() => undefined);
      if (this.#valid(key)) return;
      return this.#renewOnce(key, renew);
    }
    const own = renew().finally(() => this.#renewals.delete(key));
    this.#renewals.set(key, own);
    await own;
  }

  #grantFor({ ClientCredentialsProvider }: Library, key: string, oauth: Credentials) {
    const { issuer, client_id, client_secret, scope } = oauth;
    const provider = new ClientCredentialsProvider({
      expectedIssuer: issuer,
      clientId: client_id,
      clientSecret: client_secret,
      ...(scope === '' ? {} : { scope }),
    });
    provider.saveTokens = (granted) => this.#keep(key, granted);
    return provider;
  }

  #keep(key: string, { access_token: value, expires_in }: Granted): void {
    if (value.length > LIMITS.serverTokenChars)
      throw new McpFailure(`the token of the issuer is longer than ${LIMITS.serverTokenChars} characters`, {
        isLost: true,
      });
    const nowMs = this.#clock.now();
    this.#kept.delete(key);
    this.#kept.set(key, { value, grantedAtMs: nowMs, untilMs: nowMs + usedMs(expires_in) });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > LIMITS.serverTokensKept && oldest !== undefined) this.#kept.delete(oldest);
  }
}

/** How long a token is used, ms; its issuer names its life in seconds, or does not. */
function usedMs(expiresInSeconds: number | undefined): number {
  if (expiresInSeconds === undefined || !Number.isFinite(expiresInSeconds)) return UNNAMED_LIFE_MS;
  const lifeMs = Math.min(Math.max(0, expiresInSeconds * 1_000), LONGEST_LIFE_MS);
  return Math.max(lifeMs - MARGIN_MS, lifeMs * USED_SHARE, SHORTEST_USE_MS);
}

/** The server is part of it: a token is granted for one resource (RFC 8707). The secret is only hashed. */
function keyOf({ tool_server_id, url }: McpServerAddress, oauth: Credentials): string {
  const { issuer, client_id, client_secret, scope } = oauth;
  return createHash('sha256')
    .update(JSON.stringify([tool_server_id, url, issuer, client_id, client_secret, scope]))
    .digest('hex');
}
