/**
 * A session's flight log for its owner: all inputs of its turn machine, to archive or to replay with other
 * settings (`parley replay`). Encrypted at rest with the session's key.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { replayOutcome, replaySettings } from '#protocol/replay.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { workingOnCalls } from '../../platform/limits/request-places.ts';
import { isLive } from '../../platform/store/session-status.ts';
import { findSession } from '../sessions/find-session.ts';
import { readFlightLog, readWholeFlightLog } from './recording-store.ts';

const sessionPath = z.object({ session_id: z.string() });

/** Registers the routes; 404 when no log was stored or its retention has ended. */
export function registerFlightLogRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/sessions/:session_id/flight-log',
    { schema: { tags: ['sessions'], params: sessionPath } },
    async (request, reply) => {
      const session = await findSession(context, callerOf(request).teamId, request.params.session_id);
      const log = await readFlightLog(context, session);
      if (log.length === 0) throw fault('not_found');
      return reply.type('application/x-ndjson').send(log);
    },
  );

  app.post(
    '/v1/agent/sessions/:session_id/replay',
    {
      schema: {
        tags: ['sessions'],
        params: sessionPath,
        body: z.strictObject({ conversation: replaySettings }),
        response: { 200: replayOutcome },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const session = await findSession(context, caller.teamId, request.params.session_id);
      if (isLive(session.status))
        throw fault('conflict', {
          detail: 'The call is still running; it can be replayed once it has ended',
        });
      return workingOnCalls(context, caller, 'replays', async () => {
        const log = await readWholeFlightLog(context, session, LIMITS.replayedLogBytes);
        if (!log) throw fault('flight_log_unreadable', { limit: LIMITS.replayedLogBytes });
        if (log.length === 0) throw fault('not_found');
        return context.dispatch.replay(log.toString('utf8'), request.body.conversation);
      });
    },
  );
}
