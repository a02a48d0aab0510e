/**
 * Who is calling: API keys. A route says what it needs in its `config.access`; without a word it needs a key.
 * The check runs before the body is read, so that its refusals come first.
 */
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fault } from '#config/errors.ts';
import { type Context, now } from '../context.ts';
import type { KeyDocument } from '../store/models/key-model.ts';
import type { SpendLimits, UserDocument } from '../store/models/user-model.ts';
import type { KnownKey } from '../store/read-memory.ts';
import { sendBare } from './problems.ts';

/** Whom a key stands for. */
export interface Caller {
  readonly userId: string;
  readonly teamId: string;
  /** The default workspace, where what the caller creates lands. */
  readonly workspaceId: string;
  readonly keyId: string;
  /** The operator's own key. */
  readonly isOperator: boolean;
  readonly betaAccess: boolean;
  readonly phoneNumberLimit: number;
  readonly outboundEnabled: boolean;
  readonly spendLimits: SpendLimits;
}

/**
 * What a route needs: `key` any key (the default), `beta` a key of an account with beta access, `operator`
 * the root key, `optional` a key or none at all (a malformed or bad one is refused), `own` a key that the
 * route's part reads itself, `none` nothing.
 */
type Access = 'key' | 'beta' | 'operator' | 'optional' | 'own' | 'none';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
    /** The body may be absent; a present one must still be JSON. */
    bodyOptional?: boolean;
    /** Answers any Origin, errors included. */
    anyOrigin?: boolean;
  }
  interface FastifyRequest {
    caller: Caller | null;
  }
}

/** The caller of a route that needs a key. Throws when the route was declared without. */
export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new Error(`route ${request.routeOptions.url} has no caller`);
  return request.caller;
}

/** The `onRequest` hook that lets a request through or refuses it. */
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
    throw fault('beta_required', { url: context.settings.SIGNUP_URL ?? `${context.publicUrl()}/beta` });
}

/**
 * Reads `Authorization: Bearer <token>`; null when it is missing or malformed (RFC 6750 §2.1; an operator may
 * choose a key of other characters).
 */
export function bearerToken(header: string | undefined): string | null {
  return /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? null;
}

/**
 * Whom an `Authorization` header stands for; null when it is missing or malformed. Throws `invalid_token` or
 * `token_expired`.
 */
export async function callerOfHeader(context: Context, header: string | undefined): Promise<Caller | null> {
  const token = bearerToken(header);
  return token === null ? null : callerOfKey(context, token);
}

/** What is stored of a key. */
export function hashKey(apiKey: string): string {
  return createHash('sha256').update(apiKey).digest('hex');
}

/** Whom a key stands for. Throws `invalid_token` or `token_expired`. */
export async function callerOfKey(context: Context, apiKey: string): Promise<Caller> {
  const hash = hashKey(apiKey);
  const known = await context.remembered.keys(hash, () => readKey(context, hash));
  if (!known) throw fault('invalid_token');
  const { key, user } = known;
  if (key.expires_at && key.expires_at <= now(context)) throw fault('token_expired');
  return {
    userId: user._id,
    teamId: user.team_id,
    workspaceId: user.workspace_id,
    keyId: key._id,
    isOperator: key.is_root,
    betaAccess: user.beta_access,
    phoneNumberLimit: user.phone_number_limit,
    outboundEnabled: user.outbound_enabled,
    spendLimits: { daily_cap: user.daily_cap ?? null, concurrent_calls: user.concurrent_calls ?? null },
  };
}

/** Null for a key that nobody has, or whose account is gone. */
async function readKey({ models }: Context, hash: string): Promise<KnownKey | null> {
  const key = await models.keys.findOne({ hash }).lean<KeyDocument>();
  const user = key && (await models.users.findById(key.user_id).lean<UserDocument>());
  return user && { key, user };
}
