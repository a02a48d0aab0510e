/** Tool servers: create, list, read, update, delete, read their tools, and compare these with an agent's. */
import { z } from 'zod';
import { permittedTools, toolChanges } from '#protocol/server-tools.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery, searchPattern } from '../../platform/http/lists.ts';
import { keyedHeaders, makeOnce } from '../../platform/http/once-per-key.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { testingServer } from '../../platform/limits/request-places.ts';
import { findPage } from '../../platform/store/find-page.ts';
import type { ToolServerDocument } from '../../platform/store/models/tool-server-model.ts';
import { findAgent } from '../agents/agent-store.ts';
import { newestVersion } from '../agents/newest-version.ts';
import { listServerTools } from './list-server-tools.ts';
import {
  toChangesRecord,
  toolChangesRecord,
  toolServerCreate,
  toolServerPatch,
  toolServerRecord,
  toolServerSummary,
  toToolServerRecord,
  toToolServerSummary,
} from './tool-server-record.ts';
import {
  countServerUses,
  createToolServer,
  deleteToolServer,
  findToolServer,
  patchToolServer,
  storeListedTools,
} from './tool-server-store.ts';

const BASE = '/v1/agent/tool-servers';
const serverPath = z.object({ tool_server_id: z.string() });
const serversQuery = z.strictObject({ ...listQuery, search: z.string().max(200).optional() });

/** A server after its tools were read. */
const refreshed = toolServerRecord.extend({
  protocol_version: z.string().describe('Revision of the protocol in which the server answered'),
  changes: toolChangesRecord.describe('Against the tools as read before'),
});

/** How the tools of a published server differ from those last read. */
const pinnedServer = z.object({
  tool_server_id: z.string(),
  name: z.string().describe('Name of the server when it was published'),
  listed_at: z.iso
    .datetime()
    .nullable()
    .describe('When the tools were last read; null if the server was deleted or has another host'),
  pinned_tools: z
    .array(
      z.object({
        name: z.string().describe('Name of the tool at its server'),
        hash: z.string().describe('Hash of the tool as published'),
      }),
    )
    .describe('Tools that calls may use as long as the server has them unchanged'),
  changes: toolChangesRecord.describe('Permitted tools as last read, against the pinned ones'),
});
const pinnedServers = z.object({
  version_number: z.number().int().nullable().describe('The published version; null before the first'),
  tool_servers: z.array(pinnedServer).describe('Its tool servers'),
});

/** Registers the routes of tool servers. */
export function registerToolServerRoutes(app: ApiServer, context: Context): void {
  registerResource(app, context);
  registerReadings(app, context);
}

async function recordOf(context: Context, server: ToolServerDocument) {
  const uses = await countServerUses(context, server.team_id, [server._id]);
  return toToolServerRecord(server, uses.get(server._id) ?? 0);
}

function registerResource(app: ApiServer, context: Context): void {
  app.post(
    BASE,
    {
      config: { access: 'beta' },
      schema: {
        tags: ['tools'],
        headers: keyedHeaders,
        body: toolServerCreate,
        response: { 201: toolServerRecord },
      },
    },
    async (request, reply) => {
      const owner = callerOf(request);
      const server = await makeOnce(context, request, {
        make: (id) => createToolServer(context, owner, request.body, id),
        find: (id) => findToolServer(context, owner.teamId, id),
      });
      return reply.code(201).send(await recordOf(context, server));
    },
  );

  app.get(
    BASE,
    {
      schema: {
        tags: ['tools'],
        querystring: serversQuery,
        response: { 200: listOf('tool_servers', toolServerSummary) },
      },
    },
    async (request) => {
      const { query } = request;
      const { teamId } = callerOf(request);
      const filter: Record<string, unknown> = { team_id: teamId };
      if (query.search) filter['name'] = searchPattern(query.search);
      const { rows, ...page } = await findPage(context.models.toolServers, {
        filter,
        query,
        // The list only counts the tools.
        without: ['tools.description', 'tools.input_schema', 'refused_tools'],
      });
      const ids = rows.map((server) => server._id);
      const uses = await countServerUses(context, teamId, ids);
      return {
        tool_servers: rows.map((server) => toToolServerSummary(server, uses.get(server._id) ?? 0)),
        ...page,
      };
    },
  );

  app.get(
    `${BASE}/:tool_server_id`,
    { schema: { tags: ['tools'], params: serverPath, response: { 200: toolServerRecord } } },
    async (request) => {
      const { teamId } = callerOf(request);
      return recordOf(context, await findToolServer(context, teamId, request.params.tool_server_id));
    },
  );

  app.patch(
    `${BASE}/:tool_server_id`,
    {
      schema: {
        tags: ['tools'],
        params: serverPath,
        body: toolServerPatch,
        response: { 200: toolServerRecord },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      const id = request.params.tool_server_id;
      return recordOf(context, await patchToolServer(context, teamId, id, request.body));
    },
  );

  app.delete(
    `${BASE}/:tool_server_id`,
    { schema: { tags: ['tools'], params: serverPath, response: { 204: z.undefined() } } },
    async (request, reply) => {
      await deleteToolServer(context, callerOf(request).teamId, request.params.tool_server_id);
      return reply.code(204).send();
    },
  );
}

function registerReadings(app: ApiServer, context: Context): void {
  app.post(
    `${BASE}/:tool_server_id/refresh`,
    { schema: { tags: ['tools'], params: serverPath, response: { 200: refreshed } } },
    async (request) => {
      const caller = callerOf(request);
      const server = await findToolServer(context, caller.teamId, request.params.tool_server_id);
      const { protocolVersion, ...listed } = await testingServer(context, caller, () =>
        listServerTools(context, server),
      );
      const saved = await storeListedTools(context, server, listed);
      return {
        ...(await recordOf(context, saved)),
        protocol_version: protocolVersion,
        changes: toChangesRecord(toolChanges(server.tools, listed.tools)),
      };
    },
  );

  app.get(
    '/v1/agent/agents/:agent_id/tool-servers',
    {
      schema: {
        tags: ['tools'],
        params: z.object({ agent_id: z.string() }),
        response: { 200: pinnedServers },
      },
    },
    async (request) => {
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      const version = await newestVersion(context, agent._id);
      const pinned = version?.tool_servers ?? [];
      const stored = await context.models.toolServers
        .find({ _id: { $in: pinned.map(({ tool_server_id }) => tool_server_id) } })
        .lean<ToolServerDocument[]>();
      return {
        version_number: version?.version_number ?? null,
        tool_servers: pinned.map(({ tool_server_id, name, tools }) => {
          const server = stored.find(({ _id }) => _id === tool_server_id);
          const current = server ? permittedTools(server.tools, server.allowed_tools) : tools;
          return {
            tool_server_id,
            name,
            listed_at: server?.listed_at?.toISOString() ?? null,
            pinned_tools: tools.map((tool) => ({ name: tool.name, hash: tool.hash })),
            changes: toChangesRecord(toolChanges(tools, current)),
          };
        }),
      };
    },
  );
}
