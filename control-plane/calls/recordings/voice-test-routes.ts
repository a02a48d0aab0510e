/** `GET /v1/agent/sessions/{session_id}/voice-test`: makes a test by voice of an ended call. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { VOICE_FAULTS, voiceTest } from '#protocol/voice-test.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { workingOnCalls } from '../../platform/limits/request-places.ts';
import { isLive } from '../../platform/store/session-status.ts';
import { findSession } from '../sessions/find-session.ts';
import { readHeardCall } from './heard-call.ts';
import { makeVoiceTest } from './make-voice-test.ts';
import { readWholeFlightLog } from './recording-store.ts';

const query = z.strictObject({
  fault: z
    .enum(VOICE_FAULTS)
    .optional()
    .describe('What must not happen again; absent, the first of these faults that the call has'),
  tool: z
    .string()
    .min(1)
    .max(120)
    .optional()
    .describe('Function name of the tool that the agent should have called, for `tool_not_called`'),
});

/** Registers the route; 404 when no flight log was stored or its retention has ended. */
export function registerVoiceTestRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/sessions/:session_id/voice-test',
    {
      schema: {
        tags: ['sessions'],
        params: z.object({ session_id: z.string() }),
        querystring: query,
        response: { 200: voiceTest },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const session = await findSession(context, caller.teamId, request.params.session_id);
      if (isLive(session.status))
        throw fault('conflict', { detail: 'The call is still running: make a test of it once it has ended' });
      const made = await workingOnCalls(context, caller, 'replays', async () => {
        const limit = LIMITS.replayedLogBytes;
        const log = await readWholeFlightLog(context, session, limit);
        if (log?.length === 0) throw fault('call_not_recorded');
        const heard = log && readHeardCall(log.toString('utf8'));
        if (!heard) throw fault('flight_log_unreadable', { limit });
        const call = {
          sessionId: session._id,
          agentName: session.agent_name,
          isEndedByCaller: session.end_reason === 'user_hangup',
          heard,
        };
        return makeVoiceTest(call, {
          fault: request.query.fault ?? null,
          tool: request.query.tool ?? null,
        });
      });
      if (!made.test) throw fault('call_has_no_such_fault', { detail: made.problem });
      return voiceTest.parse(made.test);
    },
  );
}
