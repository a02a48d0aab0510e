/** Routes of rehearsals: start one, watch it, and list those of an agent. */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import { judgedEstimate } from '#protocol/judged-rehearsal.ts';
import { rehearsalRecord } from '#protocol/rehearsal.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import type { Context } from '../../platform/context.ts';
import { type Caller, callerOf, requireBeta } from '../../platform/http/auth.ts';
import { listOf, listQuery } from '../../platform/http/lists.ts';
import { keyedHeaders, makeOnce } from '../../platform/http/once-per-key.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { workingOnCalls } from '../../platform/limits/request-places.ts';
import { findPage } from '../../platform/store/find-page.ts';
import { judgeBody } from './judge-wanted.ts';
import {
  estimateRehearsal,
  findRehearsal,
  startRehearsal,
  toRehearsalRecord,
  toRehearsalSummary,
} from './rehearsal-store.ts';

const DEFAULT_CALLS = 1_000;
const DEFAULT_DAYS = 30;

const agentPath = z.object({ agent_id: z.string() });
const rehearsalBody = z.strictObject({
  calls: z.number().int().min(1).max(LIMITS.rehearsedCalls).default(DEFAULT_CALLS),
  days: z.number().int().min(1).max(LIMITS.rehearsalDays).default(DEFAULT_DAYS),
  judge: judgeBody.optional(),
});
const estimateBody = rehearsalBody.extend({ judge: judgeBody });

/** Registers the routes. */
export function registerRehearsalRoutes(app: ApiServer, context: Context): void {
  const tags = ['agents'];

  app.post(
    '/v1/agent/agents/:agent_id/rehearsals',
    {
      schema: {
        tags,
        headers: keyedHeaders,
        params: agentPath,
        body: rehearsalBody,
        response: { 201: rehearsalRecord },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const { agent_id: agentId } = request.params;
      // As agent tests, it uses the operator's language models.
      if (request.body.judge) requireBeta(context, caller);
      const rehearsal = await makeOnce(context, request, {
        make: (id) =>
          workingOnCalls(context, caller, 'rehearsals', () =>
            startRehearsal(context, { ...ownerOf(caller), agentId, id }, request.body),
          ),
        find: (id) => findRehearsal(context, agentId, id),
      });
      return reply.code(201).send(await toRehearsalRecord(context, rehearsal));
    },
  );

  app.post(
    '/v1/agent/agents/:agent_id/rehearsals/estimate',
    {
      config: { access: 'beta', isAudited: false },
      schema: { tags, params: agentPath, body: estimateBody, response: { 200: judgedEstimate } },
    },
    async (request) => {
      const caller = callerOf(request);
      const { agent_id: agentId } = request.params;
      return workingOnCalls(context, caller, 'estimates', () =>
        estimateRehearsal(context, { ...ownerOf(caller), agentId }, request.body),
      );
    },
  );

  app.get(
    '/v1/agent/agents/:agent_id/rehearsals',
    {
      schema: {
        tags,
        params: agentPath,
        querystring: z.strictObject(listQuery),
        response: { 200: listOf('rehearsals', rehearsalRecord.omit({ result: true, judged: true })) },
      },
    },
    async (request) => {
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      const { rows, ...page } = await findPage(context.models.rehearsals, {
        filter: { agent_id: agent._id },
        query: request.query,
        without: ['tally', 'draft', 'judge'],
      });
      return { rehearsals: rows.map(toRehearsalSummary), ...page };
    },
  );

  app.get(
    '/v1/agent/agents/:agent_id/rehearsals/:rehearsal_id',
    {
      schema: {
        tags,
        params: agentPath.extend({ rehearsal_id: z.string() }),
        response: { 200: rehearsalRecord },
      },
    },
    async (request) => {
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      const { rehearsal_id: id } = request.params;
      return toRehearsalRecord(context, await findRehearsal(context, agent._id, id));
    },
  );
}

function ownerOf({ userId, teamId }: Caller): Pick<Caller, 'userId' | 'teamId'> {
  return { userId, teamId };
}
