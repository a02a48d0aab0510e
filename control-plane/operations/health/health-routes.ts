/** Liveness, readiness for calls, and metrics. */
import type { FastifyRequest } from 'fastify';
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
    const database = await context.database.ping();
    const worker = context.dispatch.hasWorker();
    const isReady = database && worker;
    return reply
      .code(isReady ? 200 : 503)
      .send({ status: isReady ? 'ready' : 'not ready', database, worker });
  });

  app.get('/metrics', open, async (request, reply) => {
    if (!maySeeMetrics(request, context.settings.METRICS_TOKEN)) return sendBare(reply, 401);
    const { contentType, body } = await context.metrics.meters.scrape(request.headers.accept);
    return reply.type(contentType).send(body);
  });
}

/**
 * The metrics cover every account, so they require METRICS_TOKEN; if it is not set, only programs on this
 * machine may read them.
 */
function maySeeMetrics({ headers, raw }: FastifyRequest, token: string | undefined): boolean {
  if (token !== undefined) return isBearer(headers.authorization, token);
  return isLoopback(raw.socket.remoteAddress ?? '') && !FORWARDED.some((name) => headers[name] !== undefined);
}
