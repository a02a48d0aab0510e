/**
 * Writes the audit log: every request with a key that changed something counts as a change of configuration,
 * unless its route is about calls or declares otherwise, so new routes are included automatically. Stores
 * names of fields, never their values.
 */
import type { FastifyRequest } from 'fastify';
import { type Context, newId, now } from '../../platform/context.ts';
import type { ApiServer } from '../../platform/http/server.ts';

/** Calls and test runs have records of their own. */
const NOT_CONFIGURATION =
  /^\/v1\/agent\/(sessions|text-sessions|phone-calls|batch-calls)(\/|$)|\/(preview-sessions|test|run|test-runs|test-batches)(\/|$)/;
const READS = new Set(['GET', 'HEAD', 'OPTIONS']);
const MAX_FIELDS = 100;
const MAX_DEPTH = 4;

declare module 'fastify' {
  interface FastifyRequest {
    /** Id of the object created by the request. */
    createdId: string | null;
  }
  interface FastifyContextConfig {
    /**
     * False for a route that changes nothing but the wallet, such as speech or a suggestion. True for one
     * about calls that takes data out.
     */
    isAudited?: boolean;
  }
}

/** Adds the hooks; must run before any route is registered. */
export function recordChanges(app: ApiServer, context: Context): void {
  app.decorateRequest('createdId', null);
  app.addHook('preSerialization', async (request, _reply, payload) => {
    if (isChange(request)) request.createdId = idIn(payload);
    return payload;
  });
  // Written before the answer is sent, so that a client finds the change in the log once it has the answer.
  app.addHook('onSend', async (request, reply, payload) => {
    if (isChange(request) && reply.statusCode < 300) await record(context, request);
    return payload;
  });
}

function isChange(request: FastifyRequest): boolean {
  const { url: route, config } = request.routeOptions;
  return (
    request.caller !== null &&
    route !== undefined &&
    !READS.has(request.method) &&
    !request.isRepetition &&
    (config.isAudited ?? !NOT_CONFIGURATION.test(route))
  );
}

async function record(context: Context, request: FastifyRequest): Promise<void> {
  const { caller, method } = request;
  const route = request.routeOptions.url ?? '';
  if (!caller) return;
  const [id] = Object.values((request.params ?? {}) as Record<string, string>);
  try {
    await context.models.auditLog.create({
      _id: newId(),
      team_id: caller.teamId,
      user_id: caller.userId,
      key_id: caller.keyId,
      action: `${method} ${route.replace(/:(\w+)/g, '{$1}')}`,
      resource: /^\/(?:v1\/agent|v1|admin)\/([\w-]+)/.exec(route)?.[1] ?? route,
      resource_id: id ?? request.createdId,
      fields: fieldPaths(request.body).slice(0, MAX_FIELDS),
      request_id: request.id,
      created_at: now(context),
    });
  } catch (error) {
    // The change has already been made, so the request must succeed.
    context.logger.error({ err: error, route }, 'failed to record a change in the audit log');
  }
}

/** Paths of an object's leaves. A list is one leaf; keys that do not look like names are omitted. */
function fieldPaths(value: unknown, path = '', depth = 0): string[] {
  if (!isPlainObject(value) || depth === MAX_DEPTH) return path === '' ? [] : [path];
  return Object.entries(value).flatMap(([name, inner]) => {
    if (inner === undefined) return [];
    const safe = /^[\w-]{1,64}$/.test(name) ? name : '?';
    return fieldPaths(inner, path === '' ? safe : `${path}.${safe}`, depth + 1);
  });
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function idIn(payload: unknown): string | null {
  if (!isPlainObject(payload)) return null;
  const [, id] =
    Object.entries(payload).find(([name, value]) => name.endsWith('_id') && typeof value === 'string') ?? [];
  return typeof id === 'string' ? id : null;
}
