/** Routes of the product's own parts (`/internal/…`): open to holders of the workers' token only. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { isBearer } from './bearer.ts';
import { sendBare } from './problems.ts';

/** The `onRequest` hook of a route for workers and signalling; such a route's `config.access` is `none`. */
export function workersOnly(
  context: Pick<Context, 'credentials'>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined> {
  return async (request, reply) => {
    if (isBearer(request.headers.authorization, context.credentials.workerToken)) return undefined;
    sendBare(reply, 401);
    return reply;
  };
}
