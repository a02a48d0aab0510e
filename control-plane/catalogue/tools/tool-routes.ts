/** Tools: create, list, read, update, test, delete, and list the agents that use one. */
import { z } from 'zod';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { dependentsList, listOf, listQuery, searchPattern } from '../../platform/http/lists.ts';
import { keyedHeaders, makeOnce } from '../../platform/http/once-per-key.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { triedRequest } from '../../platform/http/tried-request.ts';
import { testingServer } from '../../platform/limits/request-places.ts';
import { findPage } from '../../platform/store/find-page.ts';
import type { ToolDocument } from '../../platform/store/models/tool-model.ts';
import { findAgent } from '../agents/agent-store.ts';
import { testTool, toolTestBody } from './test-tool.ts';
import {
  toolCreate,
  toolPatch,
  toolRecord,
  toolSummary,
  toToolRecord,
  toToolSummary,
} from './tool-record.ts';
import { countUses, createTool, deleteTool, dependentsOf, findTool, patchTool } from './tool-store.ts';

const toolPath = z.object({ tool_id: z.string() });
const toolsQuery = z.strictObject({
  ...listQuery,
  search: z.string().max(200).optional(),
  agent_id: z.string().max(64).optional(),
});

/** Registers the tool routes. */
export function registerToolRoutes(app: ApiServer, context: Context): void {
  const record = async (tool: ToolDocument) =>
    toToolRecord(tool, (await countUses(context, tool.team_id, [tool._id])).get(tool._id) ?? 0);

  app.post(
    '/v1/agent/tools',
    {
      config: { access: 'beta' },
      schema: { tags: ['tools'], headers: keyedHeaders, body: toolCreate, response: { 201: toolRecord } },
    },
    async (request, reply) => {
      const owner = callerOf(request);
      const tool = await makeOnce(context, request, {
        make: (id) => createTool(context, owner, request.body, id),
        find: (id) => findTool(context, owner.teamId, id),
      });
      return reply.code(201).send(await record(tool));
    },
  );

  app.get(
    '/v1/agent/tools',
    { schema: { tags: ['tools'], querystring: toolsQuery, response: { 200: listOf('tools', toolSummary) } } },
    async (request) => {
      const { query } = request;
      const { teamId } = callerOf(request);
      const filter: Record<string, unknown> = { team_id: teamId };
      if (query.search) filter['name'] = searchPattern(query.search);
      if (query.agent_id !== undefined)
        filter['_id'] = { $in: (await findAgent(context, teamId, query.agent_id)).config.tools.tool_ids };
      const { rows, ...page } = await findPage(context.models.tools, { filter, query });
      const uses = await countUses(
        context,
        teamId,
        rows.map((tool) => tool._id),
      );
      return { tools: rows.map((tool) => toToolSummary(tool, uses.get(tool._id) ?? 0)), ...page };
    },
  );

  app.get(
    '/v1/agent/tools/:tool_id',
    { schema: { tags: ['tools'], params: toolPath, response: { 200: toolRecord } } },
    async (request) => record(await findTool(context, callerOf(request).teamId, request.params.tool_id)),
  );

  app.patch(
    '/v1/agent/tools/:tool_id',
    { schema: { tags: ['tools'], params: toolPath, body: toolPatch, response: { 200: toolRecord } } },
    async (request) =>
      record(await patchTool(context, callerOf(request).teamId, request.params.tool_id, request.body)),
  );

  app.delete(
    '/v1/agent/tools/:tool_id',
    { schema: { tags: ['tools'], params: toolPath, response: { 204: z.undefined() } } },
    async (request, reply) => {
      await deleteTool(context, callerOf(request).teamId, request.params.tool_id);
      return reply.code(204).send();
    },
  );

  app.post(
    '/v1/agent/tools/:tool_id/test',
    { schema: { tags: ['tools'], params: toolPath, body: toolTestBody, response: { 200: triedRequest } } },
    async (request) => {
      const caller = callerOf(request);
      const tool = await findTool(context, caller.teamId, request.params.tool_id);
      return testingServer(context, caller, () => testTool(context, tool, request.body.arguments));
    },
  );

  app.get(
    '/v1/agent/tools/:tool_id/agents',
    { schema: { tags: ['tools'], params: toolPath, response: { 200: dependentsList } } },
    async (request) => {
      const { teamId } = callerOf(request);
      const tool = await findTool(context, teamId, request.params.tool_id);
      const agents = await dependentsOf(context, teamId, tool._id);
      return { agents, total: agents.length };
    },
  );
}
