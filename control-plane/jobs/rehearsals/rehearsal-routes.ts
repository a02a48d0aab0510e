/** Routes of rehearsals: start one, watch it, and list those of an agent. */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import { rehearsalRecord } from '#protocol/rehearsal.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery } from '../../platform/http/lists.ts';
import { keyedHeaders, makeOnce } from '../../platform/http/once-per-key.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { runningCallsAgain } from '../../platform/limits/request-places.ts';
import { findPage } from '../../platform/store/find-page.ts';
import { findRehearsal, startRehearsal, toRehearsalRecord, toRehearsalSummary } from './rehearsal-store.ts';

const DEFAULT_CALLS = 1_000;
const DEFAULT_DAYS = 30;

const agentPath = z.object({ agent_id: z.string() });
const rehearsalBody = z.strictObject({
  calls: z.number().int().min(1).max(LIMITS.rehearsedCalls).default(DEFAULT_CALLS),
  days: z.number().int().min(1).max(LIMITS.rehearsalDays).default(DEFAULT_DAYS),
});

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
      const rehearsal = await makeOnce(context, request, {
        make: (id) =>
          runningCallsAgain(context, caller, 'rehearsals', () =>
            startRehearsal(context, { teamId: caller.teamId, agentId, id }, request.body),
          ),
        find: (id) => findRehearsal(context, agentId, id),
      });
      return reply.code(201).send(toRehearsalRecord(rehearsal));
    },
  );

  app.get(
    '/v1/agent/agents/:agent_id/rehearsals',
    {
      schema: {
        tags,
        params: agentPath,
        querystring: z.strictObject(listQuery),
        response: { 200: listOf('rehearsals', rehearsalRecord.omit({ result: true })) },
      },
    },
    async (request) => {
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      const { rows, ...page } = await findPage(context.models.rehearsals, {
        filter: { agent_id: agent._id },
        query: request.query,
        without: ['tally', 'draft'],
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
      return toRehearsalRecord(await findRehearsal(context, agent._id, request.params.rehearsal_id));
    },
  );
}
