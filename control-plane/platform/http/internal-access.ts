/** Access to internal routes and upgrades (`/internal/…`): only with the workers' token. */
import type { Server } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { isBearer } from './bearer.ts';
import { sendBare } from './problems.ts';
import { claimUpgrade, refuseUpgrade, type Upgrade } from './upgrades.ts';

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

/** `claimUpgrade` for upgrades by workers; all others get 401. */
export function claimWorkersUpgrade(
  server: Server,
  path: string,
  { workerToken, upgrade }: { readonly workerToken: string; readonly upgrade: Upgrade },
): () => void {
  return claimUpgrade(server, path, (request, socket, head) => {
    if (isBearer(request.headers.authorization, workerToken)) upgrade(request, socket, head);
    else refuseUpgrade(socket, 401, { headers: { 'WWW-Authenticate': 'Bearer' } });
  });
}
