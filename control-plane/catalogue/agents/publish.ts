/**
 * Publishing freezes a draft into an immutable version with its tools, secrets and knowledge revisions. One
 * insert under the unique index {agent, version_number} decides; the agent's pointer is updated afterwards
 * and may be updated again.
 */
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { findAgent, snapshotOf } from './agent-store.ts';
import { type AgentSnapshot, configHash } from './config-hash.ts';
import { newestVersion } from './newest-version.ts';

const PUBLISH_ATTEMPTS = 10;

/** Labels of a version. */
export interface VersionLabels {
  readonly title: string | null;
  readonly description: string | null;
}

/**
 * Publishes an agent's draft, or returns the live version if the draft equals it. Throws `not_found`,
 * `agent_archived`, `tool_server_not_listed`, `too_many_server_tools`, `versions_reached`,
 * `publish_conflict`.
 */
export async function publishAgent(
  context: Context,
  teamId: string,
  agentId: string,
  labels: VersionLabels,
): Promise<VersionDocument> {
  for (let attempt = 0; attempt < PUBLISH_ATTEMPTS; attempt++) {
    const agent = await findAgent(context, teamId, agentId);
    if (agent.status === 'archived') throw fault('agent_archived');
    const snapshot = await snapshotOf(context, agent);
    await refuseUnreadServers(context, snapshot);
    const hash = configHash(snapshot);
    const live = await newestVersion(context, agentId);
    if (live?.config_hash === hash) {
      await pointTo(context, live);
      return live;
    }
    const limit = context.settings.LIMIT_VERSIONS;
    if ((live?.version_number ?? 0) >= limit) throw fault('versions_reached', { limit });
    const version: VersionDocument = {
      _id: newId(),
      agent_id: agentId,
      team_id: teamId,
      version_number: (live?.version_number ?? 0) + 1,
      version_title: labels.title,
      version_description: labels.description,
      config: snapshot.config,
      config_hash: hash,
      config_updated_at: agent.config_updated_at,
      secrets: snapshot.secrets,
      tools: [...snapshot.tools],
      knowledge: [...snapshot.knowledge],
      ...pinnedServers(snapshot),
      // Strictly increasing, so that sorting by time equals sorting by number.
      published_at: new Date(Math.max(context.clock.wallTime(), (live?.published_at.getTime() ?? 0) + 1)),
    };
    try {
      await context.models.versions.create(version);
    } catch (error) {
      if (isDuplicateKey(error)) continue;
      throw error;
    }
    await pointTo(context, version);
    return version;
  }
  throw fault('publish_conflict');
}

/** An agent with its live version. */
export interface PublishedAgent {
  readonly agent: AgentDocument;
  /** Null before the first publication. */
  readonly version: VersionDocument | null;
}

/** Loads an agent of any team and its live version for a call; null when the agent does not exist. */
export async function loadPublished(context: Context, agentId: string): Promise<PublishedAgent | null> {
  const [agent, version] = await Promise.all([
    context.caches.agents(agentId, () => context.models.agents.findById(agentId).lean<AgentDocument>()),
    newestVersion(context, agentId),
  ]);
  return agent && { agent, version };
}

/** The draft in the form of a version, for preview calls; never stored. */
export async function draftVersion(context: Context, agent: AgentDocument): Promise<VersionDocument> {
  const snapshot = await snapshotOf(context, agent);
  return {
    _id: 'draft',
    agent_id: agent._id,
    team_id: agent.team_id,
    version_number: 0,
    version_title: null,
    version_description: null,
    config: snapshot.config,
    config_hash: configHash(snapshot),
    config_updated_at: agent.config_updated_at,
    secrets: snapshot.secrets,
    tools: [...snapshot.tools],
    knowledge: [...snapshot.knowledge],
    ...pinnedServers(snapshot),
    published_at: now(context),
  };
}

function pinnedServers({ toolServers }: AgentSnapshot): Pick<VersionDocument, 'tool_servers'> {
  return toolServers.length > 0 ? { tool_servers: [...toolServers] } : {};
}

/** Tools that a publication pins must have been read before, and fit a model's request. */
async function refuseUnreadServers(context: Context, { toolServers }: AgentSnapshot): Promise<void> {
  if (toolServers.length === 0) return;
  const unread = await context.models.toolServers
    .findOne({ _id: { $in: toolServers.map(({ tool_server_id }) => tool_server_id) }, listed_at: null })
    .lean();
  if (unread) throw fault('tool_server_not_listed', { name: unread.name, id: unread._id });
  const count = toolServers.reduce((sum, { tools }) => sum + tools.length, 0);
  const limit = LIMITS.agentServerTools;
  if (count > limit) throw fault('too_many_server_tools', { count, limit });
}

/** A late update must not overwrite a newer pointer. */
async function pointTo(context: Context, version: VersionDocument): Promise<void> {
  await context.models.agents.updateOne(
    { _id: version.agent_id, published: { $lt: version.version_number } },
    {
      $set: {
        published: version.version_number,
        published_hash: version.config_hash,
        published_knowledge_source_ids: version.config.knowledge_base.knowledge_source_ids,
      },
    },
  );
}
