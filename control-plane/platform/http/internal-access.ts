/** Access to internal routes (`/internal/…`): only with the workers' token. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { isBearer } from './bearer.ts';
import { sendBare } from './problems.ts';

/**
 * Creates the `onRequest` hook for routes used by workers and signalling; such a route sets `config.access`
 * to `none`.
 */
export function workersOnly(
  context: Pick<Context, 'credentials'>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined> {
  return async (request, reply) => {
    if (isBearer(request.headers.authorization, context.credentials.workerToken)) return undefined;
    sendBare(reply, 401);
    return reply;
  };
}
