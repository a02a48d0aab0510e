/** `POST /v1/agent/sessions/{session_id}/analysis`: runs a skipped or failed analysis again. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { findSession } from '../../calls/sessions/find-session.ts';
import { changeSession } from '../../calls/sessions/session-store.ts';
import { type Context, now } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { isLive } from '../../platform/store/session-status.ts';

const sessionPath = z.object({ session_id: z.string() });

/** Registers the route. */
export function registerAnalysisRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/v1/agent/sessions/:session_id/analysis',
    {
      config: { bodyOptional: true },
      schema: {
        tags: ['sessions'],
        params: sessionPath,
        response: { 202: z.object({ status: z.literal('queued') }) },
      },
    },
    async (request, reply) => {
      const session = await findSession(context, callerOf(request).teamId, request.params.session_id);
      if (isLive(session.status)) throw fault('not_found');
      const requested = await changeSession(context, session._id, {
        type: 'analysis.requested',
        at: now(context),
      });
      if (!requested) throw fault('analysis_not_rerunnable');
      context.workSignals.notify('analysis');
      return reply.code(202).send({ status: 'queued' as const });
    },
  );
}
