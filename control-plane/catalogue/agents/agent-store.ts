/**
 * Agents in the store. Every query includes the team, so another team's agent looks like a missing one.
 * Drafts are changed by compare-and-set on `rev`.
 */
import type { AgentConfigPatch } from '#config/agent-config-patch.ts';
import { patchAgentConfig } from '#config/agent-config-patch.ts';
import { fault } from '#config/errors.ts';
import { permittedTools } from '#protocol/server-tools.ts';
import { type Context, now } from '../../platform/context.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { ToolServerDocument } from '../../platform/store/models/tool-server-model.ts';
import type { PinnedKnowledge } from '../../platform/store/models/version-model.ts';
import {
  type AgentSnapshot,
  type AttachedTool,
  configHash,
  type HashedSnapshot,
  type HashedToolServer,
} from './config-hash.ts';
import { checkDraft } from './config-rules.ts';
import { applySecrets } from './config-secrets.ts';
import { detachDeleted } from './references.ts';

/** Attempts to apply a change when others modify the same draft. */
const DRAFT_ATTEMPTS = 10;
/** Up to half a megabyte of each server that a list of agents has no use for. */
const UNHASHED = { 'tools.description': 0, 'tools.input_schema': 0, refused_tools: 0 } as const;

/** Finds an agent of a team. Throws `not_found`. */
export async function findAgent(context: Context, teamId: string, agentId: string): Promise<AgentDocument> {
  const agent = await context.models.agents.findOne({ _id: agentId, team_id: teamId }).lean<AgentDocument>();
  if (!agent) throw fault('not_found');
  return agent;
}

/**
 * Like `findAgent`, for starting a call. The result is cached and shared and must not be modified. Throws
 * `not_found`.
 */
export async function findCalledAgent(
  context: Context,
  teamId: string,
  agentId: string,
): Promise<AgentDocument> {
  const agent = await context.caches.agents(`${teamId}/${agentId}`, () =>
    findAgent(context, teamId, agentId),
  );
  if (!agent) throw fault('not_found');
  return agent;
}

/** Applies a patch to a draft and returns the updated agent. Throws `InvalidRequest`, `not_found`. */
export async function patchDraft(
  context: Context,
  teamId: string,
  agentId: string,
  patch: AgentConfigPatch,
): Promise<AgentDocument> {
  for (let attempt = 0; attempt < DRAFT_ATTEMPTS; attempt++) {
    const agent = await findAgent(context, teamId, agentId);
    const { config, secrets } = await patchedDraft(context, agent, patch);
    const at = now(context);
    const saved = await context.models.agents
      .findOneAndUpdate(
        { _id: agentId, rev: agent.rev },
        { $set: { config, secrets, config_updated_at: at, updated_at: at }, $inc: { rev: 1 } },
        { returnDocument: 'after' },
      )
      .lean<AgentDocument>();
    // A tool or source that is being deleted must not stay attached. On the next attempt the patch is refused
    // with its name.
    if (saved && !(await detachDeleted(context, saved, agent.config))) return saved;
  }
  throw fault('database_unavailable');
}

/** The validated draft that results from a patch. Throws `InvalidRequest`. */
export async function patchedDraft(
  context: Context,
  agent: Pick<AgentDocument, 'team_id' | 'config' | 'secrets'>,
  patch: AgentConfigPatch,
): Promise<Pick<AgentDocument, 'config' | 'secrets'>> {
  const after = patchAgentConfig(agent.config, patch);
  await checkDraft(context, { teamId: agent.team_id, before: agent.config, patch, after });
  if (patch.llm?.model !== undefined) context.localModels.want(patch.llm.model);
  return applySecrets(context.secretBox, agent, patch, after);
}

/** The state that publishing the agent now would freeze. */
export async function snapshotOf(context: Context, agent: AgentDocument): Promise<AgentSnapshot> {
  const [snapshot] = await snapshotsOf(context, [agent], (ids) =>
    attachedServers<AgentSnapshot['toolServers'][number]>(context, ids, {}),
  );
  if (!snapshot) throw new Error('one agent has one snapshot');
  return snapshot;
}

/** Hash of each agent's draft, in order; a query for each kind of reference. */
export async function draftHashes(context: Context, agents: readonly AgentDocument[]): Promise<string[]> {
  const readServers = (ids: readonly string[]) => attachedServers<HashedToolServer>(context, ids, UNHASHED);
  return (await snapshotsOf(context, agents, readServers)).map(configHash);
}

async function snapshotsOf<Server extends HashedToolServer>(
  context: Context,
  agents: readonly AgentDocument[],
  readServers: (ids: readonly string[]) => Promise<Server[]>,
): Promise<(HashedSnapshot & { readonly toolServers: readonly Server[] })[]> {
  const toolIds = [...new Set(agents.flatMap((agent) => agent.config.tools.tool_ids))];
  const sourceIds = [...new Set(agents.flatMap((agent) => agent.config.knowledge_base.knowledge_source_ids))];
  const tools = new Map((await attachedTools(context, toolIds)).map((tool) => [tool.tool_id, tool]));
  const sources = new Map(
    (await attachedKnowledge(context, sourceIds)).map((source) => [source.knowledge_source_id, source]),
  );
  const serverIds = [...new Set(agents.flatMap(({ config }) => config.tool_servers?.tool_server_ids ?? []))];
  const servers = new Map((await readServers(serverIds)).map((server) => [server.tool_server_id, server]));
  return agents.map(({ config, secrets }) => ({
    config,
    secrets,
    tools: config.tools.tool_ids.flatMap((id) => tools.get(id) ?? []),
    knowledge: config.knowledge_base.knowledge_source_ids.flatMap((id) => sources.get(id) ?? []),
    toolServers: (config.tool_servers?.tool_server_ids ?? []).flatMap((id) => servers.get(id) ?? []),
  }));
}

async function attachedTools(context: Context, toolIds: readonly string[]): Promise<AttachedTool[]> {
  if (toolIds.length === 0) return [];
  const tools = await context.models.tools.find({ _id: { $in: toolIds } }).lean();
  return tools.map(
    ({
      _id,
      team_id: _team,
      workspace_id: _space,
      rev: _rev,
      created_at: _created,
      updated_at: _updated,
      deleting_at: _deleting,
      ...definition
    }) => ({
      tool_id: _id,
      ...definition,
    }),
  );
}

/** Reads tool servers with their permitted tools, without the fields of a projection. */
async function attachedServers<Server extends HashedToolServer>(
  context: Context,
  ids: readonly string[],
  without: Readonly<Record<string, 0>>,
): Promise<Server[]> {
  if (ids.length === 0) return [];
  const servers = await context.models.toolServers
    .find({ _id: { $in: ids } }, without)
    .lean<ToolServerDocument[]>();
  return servers.map(
    ({ _id, name, url, headers, oauth, background_tools, timeout_seconds, tools, allowed_tools }) =>
      ({
        tool_server_id: _id,
        name,
        url,
        headers,
        oauth,
        background_tools,
        timeout_seconds,
        tools: permittedTools(tools, allowed_tools),
      }) satisfies HashedToolServer as unknown as Server,
  );
}

async function attachedKnowledge(context: Context, sourceIds: readonly string[]): Promise<PinnedKnowledge[]> {
  if (sourceIds.length === 0) return [];
  const sources = await context.models.knowledge.find({ _id: { $in: sourceIds } }).lean();
  return sources.map(({ _id, revision_number, revision_id, name, size_bytes }) => ({
    knowledge_source_id: _id,
    revision_number,
    revision_id,
    name,
    size_bytes,
  }));
}
