/**
 * `GET` and `PUT /v1/agent/agents/{agent_id}/limits`: an agent's own spend limits, kept apart from its
 * record.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { limitFields, toLimitRecord, toStoredLimits } from '../../accounts/limits/limit-record.ts';
import { agentCalls } from '../../accounts/limits/spend-limits.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { recountPlaces } from '../../platform/store/counted-places.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import { findAgent } from './agent-store.ts';

const agentPath = z.object({ agent_id: z.string() });
const limitRecord = z.strictObject(limitFields);

/** Registers the routes for an agent's limits. */
export function registerLimitRoutes(app: ApiServer, context: Context): void {
  const url = '/v1/agent/agents/:agent_id/limits';

  app.get(
    url,
    { schema: { tags: ['agents'], params: agentPath, response: { 200: limitRecord } } },
    async (request) =>
      toLimitRecord(
        (await findAgent(context, callerOf(request).teamId, request.params.agent_id)).limits ?? {},
      ),
  );

  app.put(
    url,
    {
      schema: {
        tags: ['agents'],
        params: agentPath,
        body: limitRecord,
        response: { 200: limitRecord },
      },
    },
    async (request) => {
      const agent = await context.models.agents
        .findOneAndUpdate(
          { _id: request.params.agent_id, team_id: callerOf(request).teamId },
          { $set: { limits: { ...toStoredLimits(request.body) } } },
          { returnDocument: 'after' },
        )
        .lean<AgentDocument>();
      if (!agent) throw fault('not_found');
      await recountPlaces(context, agentCalls(agent._id));
      return toLimitRecord(agent.limits ?? {});
    },
  );
}
