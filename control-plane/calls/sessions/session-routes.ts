/** Sessions of a team: list, detail, end; previews of an agent's draft. */
import { z } from 'zod';
import { endReason, sessionStatus } from '#protocol/session-record.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import { draftVersion } from '../../catalogue/agents/publish.ts';
import { type Context, now } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery, numberFilter } from '../../platform/http/lists.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findSessionPage } from '../../platform/store/find-session-page.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import {
  DIRECTIONS,
  ENDED_STATUSES,
  hasEnded,
  isLive,
  RUNNING_STATUSES,
} from '../../platform/store/session-status.ts';
import { runFollowUps } from './after-session-change.ts';
import { createWebSession, webSessionRecord } from './create-session.ts';
import { findPreview, findSession } from './find-session.ts';
import {
  DETAIL_FIELDS,
  sessionDetail,
  sessionRecord,
  toSessionDetail,
  toSessionRecord,
} from './session-record.ts';
import { checkPromptLength, PLAIN_REQUEST, previewBody } from './session-request.ts';
import { changeKnownSession } from './session-store.ts';

const sessionPath = z.object({ session_id: z.string() });
const agentPath = z.object({ agent_id: z.string() });

function commaList<Member extends z.ZodType<unknown, string>>(member: Member) {
  return z
    .string()
    .max(512)
    .transform((list) => list.split(',').map((entry) => entry.trim()))
    .pipe(z.array(member));
}

const sessionsQuery = z.strictObject({
  ...listQuery,
  agent_id: z.string().max(64).optional(),
  status: commaList(sessionStatus).optional(),
  end_reason: commaList(endReason).optional(),
  direction: z.enum(['inbound', 'outbound']).optional(),
  caller_number: z.string().max(64).optional(),
  sip_call_id: z.string().max(512).optional(),
  created_after: z.iso.datetime({ offset: true }).optional(),
  created_before: z.iso.datetime({ offset: true }).optional(),
});

type SessionsQuery = z.output<typeof sessionsQuery>;

/** Statuses of a list that asks for none. */
const LISTED = [...RUNNING_STATUSES, ...ENDED_STATUSES];

/** Registers the routes for existing sessions and for previews. */
export function registerSessionRoutes(app: ApiServer, context: Context): void {
  registerHistory(app, context);
  registerPreviews(app, context);
}

function registerHistory(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/sessions',
    {
      schema: {
        tags: ['sessions'],
        querystring: sessionsQuery,
        response: { 200: listOf('sessions', sessionRecord) },
      },
    },
    async (request) => {
      const { query } = request;
      const { rows, ...page } = await findSessionPage(context, {
        filter: sessionsFilter(callerOf(request).teamId, query),
        query,
        without: DETAIL_FIELDS,
      });
      return { sessions: rows.map(toSessionRecord), ...page };
    },
  );

  app.get(
    '/v1/agent/sessions/:session_id',
    { schema: { tags: ['sessions'], params: sessionPath, response: { 200: sessionDetail } } },
    async (request) =>
      toSessionDetail(
        context,
        await findSession(context, callerOf(request).teamId, request.params.session_id),
      ),
  );

  app.post(
    '/v1/agent/sessions/:session_id/end',
    {
      config: { bodyOptional: true },
      schema: { tags: ['sessions'], params: sessionPath, response: { 204: z.undefined() } },
    },
    async (request, reply) => {
      await endSession(
        context,
        await findSession(context, callerOf(request).teamId, request.params.session_id),
      );
      return reply.code(204).send();
    },
  );
}

function registerPreviews(app: ApiServer, context: Context): void {
  app.post(
    '/v1/agent/agents/:agent_id/preview-sessions',
    {
      config: { access: 'beta', bodyOptional: true, refusesKey: true },
      schema: {
        tags: ['sessions'],
        params: agentPath,
        body: previewBody,
        response: { 201: webSessionRecord },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const body = request.body ?? PLAIN_REQUEST;
      await checkPromptLength(body);
      const agent = await findAgent(context, caller.teamId, request.params.agent_id);
      const version = await draftVersion(context, agent);
      const created = await createWebSession(context, {
        agent,
        version,
        share: null,
        payer: caller,
        source: 'dashboard',
        isPreview: true,
        request: body,
      });
      return reply.code(201).send(created);
    },
  );

  app.get(
    '/v1/agent/agents/:agent_id/preview-sessions/:session_id',
    {
      schema: {
        tags: ['sessions'],
        params: agentPath.extend(sessionPath.shape),
        response: { 200: sessionDetail },
      },
    },
    async (request) => {
      const { agent_id: agentId, session_id: sessionId } = request.params;
      return toSessionDetail(
        context,
        await findPreview(context, { teamId: callerOf(request).teamId, agentId, sessionId }),
      );
    },
  );
}

/**
 * Ends a session on an API request. A live call is ended by its worker, which reports the end; a session not
 * yet joined ends at once.
 */
async function endSession(context: Context, session: SessionDocument): Promise<void> {
  if (!isLive(session.status)) return;
  const key = { sessionId: session._id, epoch: session.epoch };
  if (session.status === 'active' && session.worker) {
    context.dispatch.end(session.worker.instance_id, key, 'user_hangup');
    return;
  }
  const reason = session.status === 'pending' ? 'cancelled' : 'user_hangup';
  const ended = await changeKnownSession(context, session, { type: 'ended', at: now(context), reason });
  if (!ended) return;
  if (session.worker)
    tellWorker(context, session.worker.instance_id, () =>
      context.dispatch.end(session.worker?.instance_id ?? '', key, reason),
    );
  await runFollowUps(context, ended);
}

/** A worker that cannot be reached is notified when it reconnects. */
function tellWorker(context: Context, instanceId: string, send: () => void): void {
  try {
    send();
  } catch (error) {
    context.logger.debug({ err: error, instanceId }, 'failed to reach the worker of a session');
  }
}

/** MongoDB uses a partial index on strings only if the query states the type. */
const TEXT = { $type: 'string' } as const;

function sessionsFilter(teamId: string, query: SessionsQuery): Record<string, unknown> {
  const { agent_id, caller_number: number, sip_call_id } = query;
  const created = {
    ...(query.created_after === undefined ? {} : { $gte: new Date(query.created_after) }),
    ...(query.created_before === undefined ? {} : { $lte: new Date(query.created_before) }),
  };
  const hasOwnIndex = agent_id !== undefined || number !== undefined || sip_call_id !== undefined;
  const ofKind = query.status ?? query.end_reason ?? query.direction;
  return {
    team_id: teamId,
    is_listed: true,
    ...(ofKind === undefined || hasOwnIndex ? kindFilter(query) : kindsFilter(query)),
    ...(agent_id === undefined ? {} : { agent_id }),
    ...(number === undefined ? {} : { caller_number: { $eq: numberFilter(number), ...TEXT } }),
    ...(sip_call_id === undefined ? {} : { sip_call_id: { $eq: sip_call_id, ...TEXT } }),
    ...(Object.keys(created).length === 0 ? {} : { created_at: created }),
  };
}

/** Status, direction and end reason as they are asked for. */
function kindFilter({ status, direction, end_reason }: SessionsQuery): Record<string, unknown> {
  return {
    // Expressed as an exclusion, so that the index of kinds is not used: its order is another one.
    status: status === undefined ? { $nin: ['creating', 'pending'] } : { $in: status },
    ...(direction === undefined ? {} : { direction }),
    ...(end_reason === undefined ? {} : { end_reason: { $in: end_reason } }),
  };
}

/**
 * The same, with every value of all three named: the sessions of each combination are in one place of the
 * index, newest first, and a page merges the places. The sessions asked for may be one in a thousand.
 */
function kindsFilter({ status = LISTED, direction, end_reason }: SessionsQuery): Record<string, unknown> {
  const reasons = [
    ...(status.some(hasEnded) ? endReason.options : []),
    ...(status.some(isLive) ? [null] : []),
  ];
  return {
    status: { $in: status },
    direction: { $in: direction === undefined ? [...DIRECTIONS] : [direction] },
    end_reason: { $in: end_reason ?? reasons },
  };
}
