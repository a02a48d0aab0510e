/** `POST /v1/agent/agents/{agent_id}/test-calls`: permits one phone call of a voice test to an agent. */
import { z } from 'zod';
import { signallingServers } from '#config/env.ts';
import { fault } from '#config/errors.ts';
import { TEST_CALL_HEADER } from '#protocol/sip-admission.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { versionToTest } from './called-version.ts';
import { permitAgentCall, testedVersion } from './test-call.ts';

const testCall = z.object({
  session_id: z.string().describe('The session of the call, a preview of this agent'),
  header: z
    .object({ name: z.string(), value: z.string() })
    .describe('The INVITE must contain this header, which permits one call'),
  expires_at: z.iso.datetime().describe('The call must begin before this time, RFC 3339 UTC'),
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
      const { sessionId, value, expiresAt } = permitAgentCall(context, {
        ...{ agent_id: agent._id, team_id: teamId, workspace_id: workspaceId, user_id: userId },
        version,
      });
      const { SIP_HOST: host, SIP_PORT: port } = context.settings;
      return reply.code(201).send({
        session_id: sessionId,
        header: { name: TEST_CALL_HEADER, value },
        expires_at: expiresAt.toISOString(),
        config_hash,
        sip: signallingServers(context.settings).length === 0 ? { host, port } : null,
      });
    },
  );
}
