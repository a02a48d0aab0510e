/**
 * The span of an answered HTTP request: part of the client's own trace where it named one, and linked with
 * the trace of the call it was about.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callTraceparent } from '#config/tracing.ts';
import type { Context } from '../context.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The session this request has created. */
    createdSession: string | null;
  }
}

/** What machines ask every few seconds says nothing. */
const UNTRACED = new Set(['/healthz', '/readyz', '/metrics']);
const SESSION_ID = /^[0-9a-f]{32}$/;

/** Records it; the route's pattern stands for the address, which may carry numbers or tokens. */
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
