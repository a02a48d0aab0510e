/** Liveness, readiness for calls and for requests, and metrics. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isLoopback } from '#base/public-address.ts';
import type { Context } from '../../platform/context.ts';
import { isBearer } from '../../platform/http/bearer.ts';
import { sendBare } from '../../platform/http/problems.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { addStateMetrics } from './state-metrics.ts';

/** Headers set by a proxy: the connection's address is then the proxy's, not the client's. */
const FORWARDED = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'via',
];

/** Registers the health and metrics routes. */
export function registerHealthRoutes(app: ApiServer, context: Context): void {
  addStateMetrics(context);
  const open = { config: { access: 'none' as const }, schema: { hide: true } };

  app.get('/healthz', open, () => ({ status: 'ok' }));

  app.get('/readyz', open, async (_request, reply) => {
    const state = await readiness(context);
    return sendReadiness(reply, state, state.database && state.worker && !state.stopping);
  });

  // Workers register through the address that this guards: a cold start would wait for ever for a worker.
  app.get('/readyz/requests', open, async (_request, reply) => {
    const state = await readiness(context);
    return sendReadiness(reply, state, state.database && !state.stopping);
  });

  app.get('/metrics', open, async (request, reply) => {
    if (!maySeeMetrics(request, context.settings.METRICS_TOKEN)) return sendBare(reply, 401);
    const { contentType, body } = await context.metrics.meters.scrape(request.headers.accept);
    return reply.type(contentType).send(body);
  });
}

interface Readiness {
  readonly database: boolean;
  readonly worker: boolean;
  readonly stopping: boolean;
}

async function readiness({ database, dispatch }: Context): Promise<Readiness> {
  return {
    database: await database.ping(),
    worker: dispatch.hasWorker(),
    stopping: dispatch.isStopping,
  };
}

function sendReadiness(reply: FastifyReply, state: Readiness, isReady: boolean): FastifyReply {
  return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ready' : 'not ready', ...state });
}

/**
 * The metrics cover every account, so they require METRICS_TOKEN; if it is not set, only programs on this
 * machine may read them.
 */
function maySeeMetrics({ headers, raw }: FastifyRequest, token: string | undefined): boolean {
  if (token !== undefined) return isBearer(headers.authorization, token);
  return isLoopback(raw.socket.remoteAddress ?? '') && !FORWARDED.some((name) => headers[name] !== undefined);
}
