/** Text sessions of a team: create, list, read, end. */
import { z } from 'zod';
import { withCalledAgent } from '../../calls/sessions/create-session-routes.ts';
import { toAnalysis } from '../../calls/sessions/session-record.ts';
import { checkPromptLength } from '../../calls/sessions/session-request.ts';
import { sealerOf } from '../../calls/sessions/session-store.ts';
import { readEarlierItems } from '../../calls/texts/text-session-parts.ts';
import { readTextItems } from '../../calls/texts/text-timeline.ts';
import type { Context } from '../../platform/context.ts';
import { type Caller, callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery, numberFilter } from '../../platform/http/lists.ts';
import { keyedHeaders, makeOnce, PARTS_LEASE_MS } from '../../platform/http/once-per-key.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findPage } from '../../platform/store/find-page.ts';
import type { TextSessionDocument } from '../../platform/store/models/text-session-model.ts';
import { costOf } from './text-charge.ts';
import { textSessionDetail, textSessionRecord, toTextSessionRecord } from './text-session-record.ts';
import { type TextSessionRequest, textSessionBody } from './text-session-request.ts';
import {
  createTextSession,
  endTextSession,
  findTextSession,
  leftByTextSession,
} from './text-session-store.ts';

const sessionPath = z.object({ text_session_id: z.string().max(64) });

const sessionsQuery = z.strictObject({
  ...listQuery,
  agent_id: z.string().max(64).optional(),
  status: z.enum(['active', 'ended']).optional(),
  end_user_id: z.string().max(256).optional(),
  continued_from: z.string().max(64).optional(),
  caller_number: z.string().max(64).transform(numberFilter).optional(),
});

/** Registers the routes. */
export function registerTextSessionRoutes(app: ApiServer, context: Context): void {
  registerCreation(app, context);
  registerReading(app, context);

  app.post(
    '/v1/agent/text-sessions/:text_session_id/end',
    {
      config: { bodyOptional: true },
      schema: { tags: ['text sessions'], params: sessionPath, response: { 204: z.undefined() } },
    },
    async (request, reply) => {
      const { _id } = await findTextSession(
        context,
        callerOf(request).teamId,
        request.params.text_session_id,
      );
      await endTextSession(context, _id, 'client');
      return reply.code(204).send();
    },
  );
}

function registerCreation(app: ApiServer, context: Context): void {
  app.post(
    '/v1/agent/text-sessions',
    {
      config: { access: 'beta' },
      schema: {
        tags: ['text sessions'],
        headers: keyedHeaders,
        body: textSessionBody,
        response: { 201: textSessionRecord },
      },
    },
    async (request, reply) => {
      await checkPromptLength(request.body);
      const caller = callerOf(request);
      const session = await makeOnce(context, request, {
        make: (id) => create(context, caller, request.body, id),
        find: (id) => findTextSession(context, caller.teamId, id),
        leftBy: (id) => leftByTextSession(context, id),
        leaseMs: PARTS_LEASE_MS,
      });
      return reply.code(201).send(toTextSessionRecord(session));
    },
  );
}

function registerReading(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/text-sessions',
    {
      schema: {
        tags: ['text sessions'],
        querystring: sessionsQuery,
        response: { 200: listOf('text_sessions', textSessionRecord) },
      },
    },
    async (request) => {
      const { query } = request;
      const { agent_id, status, end_user_id, continued_from, caller_number: person } = query;
      const wanted = Object.entries({
        agent_id,
        status,
        end_user_id,
        continued_from,
        'sms.person': person,
      }).filter(([, value]) => value !== undefined);
      const { rows, ...page } = await findPage<TextSessionDocument>(context.models.textSessions, {
        filter: { team_id: callerOf(request).teamId, ...Object.fromEntries(wanted) },
        query,
        without: ['wrapped_key'],
      });
      return { text_sessions: rows.map(toTextSessionRecord), ...page };
    },
  );

  app.get(
    '/v1/agent/text-sessions/:text_session_id',
    {
      schema: { tags: ['text sessions'], params: sessionPath, response: { 200: textSessionDetail } },
    },
    async (request) => {
      const session = await findTextSession(
        context,
        callerOf(request).teamId,
        request.params.text_session_id,
      );
      const [earlier, items, cost] = await Promise.all([
        readEarlierItems(context, session),
        readTextItems(context, session),
        costOf(context, session),
      ]);
      const analysis = toAnalysis(session.analysis, sealerOf(context, session));
      return { ...toTextSessionRecord(session), items: [...earlier, ...items], cost, analysis };
    },
  );
}

async function create(
  context: Context,
  caller: Caller,
  request: TextSessionRequest,
  sessionId: string,
): Promise<TextSessionDocument> {
  const { agent_id: agentId, overrides } = request;
  const drawn = { caller: request.end_user_id ?? null, sessionId };
  return withCalledAgent(context, caller, { agentId, overrides, drawn }, (called) =>
    createTextSession(context, { ...called, payer: caller, medium: 'chat', request, sessionId }),
  );
}
