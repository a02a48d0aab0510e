/** Whether the process serves, whether the product can take calls, and its metrics (running.md, "Health, metrics, API description"). */
import type { Context } from '../context.ts';
import type { ApiServer } from '../server.ts';

/** Registers the health and metrics routes. */
export function registerHealthRoutes(app: ApiServer, context: Context): void {
  const open = { config: { access: 'none' as const }, schema: { hide: true } };

  app.get('/healthz', open, () => ({ status: 'ok' }));

  app.get('/readyz', open, async (_request, reply) => {
    const database = await context.database.ping();
    const worker = context.dispatch.hasWorker();
    const isReady = database && worker;
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ready' : 'not ready', database, worker });
  });

  app.get('/metrics', open, async (_request, reply) => {
    const { registry } = context.metrics;
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}
