/**
 * Authentication by API key. Each route declares its requirement in `config.access`; the default is `key`.
 * The check runs before the body is read, so authentication errors take precedence.
 */
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fault } from '#config/errors.ts';
import { type Context, now } from '../context.ts';
import { hasExpired, type KeyDocument } from '../store/models/key-model.ts';
import type { SpendLimits, UserDocument } from '../store/models/user-model.ts';
import type { KeyWithAccount } from '../store/read-cache.ts';
import { sendBare } from './problems.ts';

/** The authenticated owner of an API key. */
export interface Caller {
  readonly userId: string;
  readonly teamId: string;
  /** The default workspace, in which the caller's resources are created. */
  readonly workspaceId: string;
  readonly keyId: string;
  readonly keyExpiresAt: Date | null;
  /** True for the operator's root key. */
  readonly isOperator: boolean;
  /** The key may export calls to files. */
  readonly mayExportCalls: boolean;
  readonly betaAccess: boolean;
  readonly phoneNumberLimit: number;
  readonly outboundEnabled: boolean;
  readonly spendLimits: SpendLimits;
}

/**
 * Access a route requires. `key`: any key (the default). `beta`: a key of an account with beta access.
 * `operator`: the root key. `optional`: a key or none (a malformed or invalid key is refused). `own`: the
 * route authenticates the request itself. `none`: public.
 */
type Access = 'key' | 'beta' | 'operator' | 'optional' | 'own' | 'none';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
    /** The body may be absent; if present it must still be JSON. */
    bodyOptional?: boolean;
    /** Allows every origin (CORS), for error responses too. */
    anyOrigin?: boolean;
    /** Whether a request takes a turn of its account; by default each does. */
    takesTurn?: (request: FastifyRequest) => boolean;
  }
  interface FastifyRequest {
    caller: Caller | null;
  }
}

/** The caller of an authenticated route. Throws if the route does not require a key. */
export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new Error(`route ${request.routeOptions.url} has no caller`);
  return request.caller;
}

/** Creates the `onRequest` hook that authenticates requests. */
export function createAuthentication(
  context: Context,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined> {
  return async (request, reply) => {
    request.caller = null;
    const access = request.routeOptions.config.access ?? 'key';
    const header = request.headers.authorization;
    if (
      request.is404 ||
      access === 'none' ||
      access === 'own' ||
      (access === 'optional' && header === undefined)
    )
      return undefined;
    const caller = await callerOfHeader(context, header);
    if (caller === null) {
      sendBare(reply, 401);
      return reply;
    }
    request.caller = caller;
    if (access === 'operator' && !caller.isOperator) throw fault('operator_only');
    if (access === 'beta') requireBeta(context, caller);
    return undefined;
  };
}

/** Throws `beta_required` unless the caller's account has beta access. */
export function requireBeta(context: Context, caller: Caller): void {
  if (!caller.betaAccess)
    throw fault('beta_required', { url: context.settings.SIGNUP_URL ?? `${context.publicAddress.url}/beta` });
}

/** Throws `call_export_refused` unless the key may export calls. */
export function requireExportRight(caller: Caller): void {
  if (!caller.mayExportCalls) throw fault('call_export_refused');
}

/**
 * Parses `Authorization: Bearer <token>`; null when missing or malformed. Laxer than RFC 6750 §2.1, because
 * an operator may choose a key with other characters.
 */
export function bearerToken(header: string | undefined): string | null {
  return /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? null;
}

/**
 * Resolves an `Authorization` header to its caller; null when missing or malformed. Throws `invalid_token` or
 * `token_expired`.
 */
export async function callerOfHeader(context: Context, header: string | undefined): Promise<Caller | null> {
  const token = bearerToken(header);
  return token === null ? null : callerOfKey(context, token);
}

/** The hash under which a key is stored. */
export function hashKey(apiKey: string): string {
  return createHash('sha256').update(apiKey).digest('hex');
}

/** Resolves an API key to its caller. Throws `invalid_token` or `token_expired`. */
export async function callerOfKey(context: Context, apiKey: string): Promise<Caller> {
  const hash = hashKey(apiKey);
  const known = await context.caches.keys(hash, () => readKey(context, hash));
  if (!known) throw fault('invalid_token');
  const { key, user } = known;
  if (hasExpired(key, now(context))) throw fault('token_expired');
  return {
    userId: user._id,
    teamId: user.team_id,
    workspaceId: user.workspace_id,
    keyId: key._id,
    keyExpiresAt: key.expires_at,
    isOperator: key.is_root,
    mayExportCalls: key.is_root || key.may_export_calls === true,
    betaAccess: user.beta_access,
    phoneNumberLimit: user.phone_number_limit,
    outboundEnabled: user.outbound_enabled,
    spendLimits: { daily_cap: user.daily_cap ?? null, concurrent_calls: user.concurrent_calls ?? null },
  };
}

/** Null if the key does not exist or its account has been deleted. */
async function readKey({ models }: Context, hash: string): Promise<KeyWithAccount | null> {
  const key = await models.keys.findOne({ hash }).lean<KeyDocument>();
  const user = key && (await models.users.findById(key.user_id).lean<UserDocument>());
  return user && { key, user };
}
