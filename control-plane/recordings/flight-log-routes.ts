/** A session's flight log for its owner: every input of its turn machine, which replays the call (`parley replay`). Sealed at rest with the session's key. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { callerOf } from '../auth.ts';
import type { Context } from '../context.ts';
import type { ApiServer } from '../server.ts';
import { findSession } from '../sessions/find-session.ts';
import { readFlightLog } from './recording-store.ts';

/** Registers the route; 404 when nothing was kept, or its time is over. */
export function registerFlightLogRoute(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/sessions/:session_id/flight-log',
    { schema: { tags: ['sessions'], params: z.object({ session_id: z.string() }) } },
    async (request, reply) => {
      const session = await findSession(context, callerOf(request).teamId, request.params.session_id);
      const log = await readFlightLog(context, session);
      if (log.length === 0) throw fault('not_found');
      return reply.type('application/x-ndjson').send(log);
    },
  );
}
