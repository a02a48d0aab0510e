/** `POST /v1/agent/agents/{agent_id}/test-calls`: permits one phone call of a voice test to an agent. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { versionToTest } from './called-version.ts';
import { embeddedSip, permitAgentCall, testCallPermit, testedVersion } from './test-call.ts';

const testCall = testCallPermit.extend({
  config_hash: z.string().describe('Hash of the configuration that is called'),
  sip: z
    .object({ host: z.string(), port: z.number().int() })
    .nullable()
    .describe('Where the embedded signalling listens; null with an external SIP server'),
});

/** Registers the route. It stores nothing: the header is a sealed proof that admission reads. */
export function registerVoiceTestCallRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/v1/agent/agents/:agent_id/test-calls',
    {
      config: { access: 'beta', bodyOptional: true, isAudited: false, refusesKey: true },
      schema: {
        tags: ['sessions'],
        params: z.object({ agent_id: z.string() }),
        body: z
          .strictObject({
            version: testedVersion
              .default('draft')
              .describe('`draft`, `published`, or the number of one of the agent’s versions'),
          })
          .optional(),
        response: { 201: testCall },
      },
    },
    async (request, reply) => {
      const { teamId, userId, workspaceId } = callerOf(request);
      const version = request.body?.version ?? 'draft';
      const agent = await findAgent(context, teamId, request.params.agent_id);
      if (agent.status === 'archived') throw fault('agent_archived');
      const { config_hash } = await versionToTest(context, agent, version);
      const permit = permitAgentCall(context, {
        ...{ agent_id: agent._id, team_id: teamId, workspace_id: workspaceId, user_id: userId },
        version,
      });
      return reply.code(201).send({ ...permit, config_hash, sip: embeddedSip(context.settings) });
    },
  );
}
