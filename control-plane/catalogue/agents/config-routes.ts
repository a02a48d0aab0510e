/** An agent's draft, its publication and versions, and the models and voices offered here. */
import { z } from 'zod';
import { waitAtMost } from '#base/wait-at-most.ts';
import { agentConfig } from '#config/agent-config.ts';
import { agentConfigPatch } from '#config/agent-config-patch.ts';
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery } from '../../platform/http/lists.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findPage } from '../../platform/store/find-page.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import {
  configRecord,
  toConfigRecord,
  toVersionRecord,
  toVersionSummary,
  versionRecord,
  versionSummary,
} from './agent-record.ts';
import { draftHashes, findAgent, patchDraft } from './agent-store.ts';
import { draftChanges } from './draft-changes.ts';
import { newestVersion, versionByNumber } from './newest-version.ts';
import { publishAgent } from './publish.ts';
import { settledShare } from './share-store.ts';

/** The list of models waits this long for the search that it starts. */
const SEARCH_WAIT_MS = 300;

const agentPath = z.object({ agent_id: z.string() });

const publishBody = z
  .strictObject({
    version_title: z.string().max(120).nullable().default(null),
    version_description: z.string().max(2_000).nullable().default(null),
  })
  .optional();

const offered = z.object({ id: z.string(), default: z.boolean() });
const modelsRecord = z.object({
  llm: z.array(
    offered.extend({
      context_tokens: z.number().int().optional(),
      tools: z.boolean().optional(),
      tokens_per_second: z.number().optional(),
    }),
  ),
  asr: z.array(offered),
  voices: z.array(
    z.object({ id: z.string(), name: z.string(), languages: z.array(z.string()), default: z.boolean() }),
  ),
});

const draftChangesRecord = z.object({
  version_number: z.number().int().nullable().describe('The newest published version; null before the first'),
  changes: z
    .array(
      z.object({
        path: z.string().describe('The setting, such as `conversation.response_wait_ms`'),
        published: z.string().nullable().describe('Its published value as text or JSON; null if absent'),
        draft: z.string().nullable().describe('Its value in the draft as text or JSON; null if absent'),
      }),
    )
    .describe('Settings that differ; all of the draft before the first publication'),
});

/** Registers the configuration and version routes. */
export function registerConfigRoutes(app: ApiServer, context: Context): void {
  app.get('/v1/agent/models', { schema: { tags: ['agents'], response: { 200: modelsRecord } } }, async () => {
    await searchBriefly(context);
    const { llm, asr, voices } = context.platform;
    return {
      llm: [...llm],
      asr: [...asr],
      voices: voices.map((voice) => ({ ...voice, languages: [...voice.languages] })),
    };
  });
  registerDraft(app, context);
  registerVersions(app, context);
}

/** A server that hangs must not delay every page with a list of models: they then show the last search's. */
function searchBriefly({ clock, localModels }: Context): Promise<void> {
  return waitAtMost(clock, SEARCH_WAIT_MS, localModels.search());
}

function registerDraft(app: ApiServer, context: Context): void {
  const record = async (agent: AgentDocument) =>
    toConfigRecord(agent, (await draftHashes(context, [agent]))[0] ?? '');

  app.get(
    '/v1/agent/agents/:agent_id/config',
    { schema: { tags: ['agents'], params: agentPath, response: { 200: configRecord } } },
    async (request) => record(await findAgent(context, callerOf(request).teamId, request.params.agent_id)),
  );

  app.get(
    '/v1/agent/agents/:agent_id/draft-changes',
    { schema: { tags: ['agents'], params: agentPath, response: { 200: draftChangesRecord } } },
    async (request) => {
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      const version = await newestVersion(context, agent._id);
      return {
        version_number: version?.version_number ?? null,
        // With the defaults of settings that are newer than the version.
        changes: draftChanges(
          version ? agentConfig.parse(version.config) : {},
          agentConfig.parse(agent.config),
        ),
      };
    },
  );

  app.patch(
    '/v1/agent/agents/:agent_id/config',
    {
      schema: {
        tags: ['agents'],
        params: agentPath,
        body: agentConfigPatch,
        response: { 200: configRecord },
      },
    },
    async (request) =>
      record(await patchDraft(context, callerOf(request).teamId, request.params.agent_id, request.body)),
  );
}

function registerVersions(app: ApiServer, context: Context): void {
  app.post(
    '/v1/agent/agents/:agent_id/publish',
    {
      config: { bodyOptional: true },
      schema: { tags: ['agents'], params: agentPath, body: publishBody, response: { 200: versionRecord } },
    },
    async (request) => {
      const labels = {
        title: request.body?.version_title ?? null,
        description: request.body?.version_description ?? null,
      };
      const { agent_id: agentId } = request.params;
      const version = await publishAgent(context, callerOf(request).teamId, agentId, labels);
      await settledShare(context, agentId);
      return toVersionRecord(version);
    },
  );

  app.get(
    '/v1/agent/agents/:agent_id/versions',
    {
      schema: {
        tags: ['agents'],
        params: agentPath,
        querystring: z.strictObject(listQuery),
        response: { 200: listOf('versions', versionSummary) },
      },
    },
    async (request) => {
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      const { rows, ...page } = await findPage(context.models.versions, {
        filter: { agent_id: agent._id },
        query: request.query,
        timeField: 'published_at',
        without: ['config', 'tools', 'secrets', 'knowledge', 'tool_servers'],
      });
      return { versions: rows.map(toVersionSummary), ...page };
    },
  );

  app.get(
    '/v1/agent/agents/:agent_id/versions/:version_number',
    {
      schema: {
        tags: ['agents'],
        params: agentPath.extend({ version_number: z.string() }),
        response: { 200: versionRecord },
      },
    },
    async (request) => {
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      // A version number that is not an integer gives 404, not 422.
      const number = /^[1-9]\d{0,8}$/.test(request.params.version_number)
        ? Number(request.params.version_number)
        : -1;
      const version = await versionByNumber(context, agent._id, number);
      if (!version) throw fault('not_found');
      return toVersionRecord(version);
    },
  );
}
