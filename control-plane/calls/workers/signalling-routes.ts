/** Reports of signalling servers about their workers: `POST /internal/sip/workers`. */
import { z } from 'zod';
import { signallingReport } from '#protocol/worker-watch.ts';
import type { Context } from '../../platform/context.ts';
import { workersOnly } from '../../platform/http/internal-access.ts';
import type { ApiServer } from '../../platform/http/server.ts';

/** Registers the route. */
export function registerSignallingRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/internal/sip/workers',
    {
      config: { access: 'none' },
      onRequest: workersOnly(context),
      schema: { hide: true, body: signallingReport, response: { 204: z.undefined() } },
    },
    async (request, reply) => {
      context.signallingReports.take(request.body);
      return reply.code(204).send();
    },
  );
}
