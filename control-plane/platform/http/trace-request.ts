/**
 * The trace span of an answered HTTP request: part of the client's trace if the request names one, and linked
 * to the trace of its call.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callTraceparent } from '#config/tracing.ts';
import type { Context } from '../context.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The session created by this request. */
    createdSession: string | null;
  }
}

/** Polling endpoints are not traced, because they would only add noise. */
const UNTRACED = new Set(['/healthz', '/readyz', '/readyz/requests', '/metrics']);
const SESSION_ID = /^[0-9a-f]{32}$/;

/** Names the span after the route's pattern, because the URL may contain phone numbers or tokens. */
export function traceRequest(
  { clock, tracing }: Pick<Context, 'clock' | 'tracing'>,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const route = request.routeOptions.url;
  if (!tracing || route === undefined || UNTRACED.has(route)) return;
  const endMs = clock.wallTime();
  const { session_id: named } = (request.params ?? {}) as { session_id?: string };
  const sessionId = request.createdSession ?? named ?? '';
  const parent = request.headers['traceparent'];
  tracing.record({
    name: `${request.method} ${route}`,
    kind: 'server',
    startMs: endMs - reply.elapsedTime,
    endMs,
    parent: typeof parent === 'string' ? parent : null,
    links: SESSION_ID.test(sessionId) ? [callTraceparent(sessionId)] : [],
    attributes: {
      'http.request.method': request.method,
      'http.route': route,
      'http.response.status_code': reply.statusCode,
      'parley.request_id': request.id,
    },
    error: reply.statusCode >= 500 ? String(reply.statusCode) : null,
  });
}
