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
import { type AgentSnapshot, configHash, configHashWith } from './config-hash.ts';
import { newestVersion } from './newest-version.ts';
import { type LiveVersions, liveVersions } from './version-of-call.ts';

const PUBLISH_ATTEMPTS = 10;

/** Labels of a version. */
export interface VersionLabels {
  readonly title: string | null;
  readonly description: string | null;
}

const NO_LABELS: VersionLabels = { title: null, description: null };

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
  return trying(async () => {
    const { agent, frozen } = await freezeDraft(context, teamId, agentId);
    return publishFrozen(context, agent, { frozen, labels });
  });
}

/**
 * Publishes what another version has frozen, for all calls, under the next number and with its labels.
 * Returns the published version if it equals that one. Throws `not_found`, `agent_archived`,
 * `versions_reached`, `publish_conflict`.
 */
export async function publishAgain(
  context: Context,
  teamId: string,
  agentId: string,
  version: VersionDocument,
): Promise<VersionDocument> {
  const labels = { title: version.version_title, description: version.version_description };
  return trying(async () => {
    const agent = await findServingAgent(context, teamId, agentId);
    return publishFrozen(context, agent, { frozen: frozenIn(version), labels });
  });
}

/**
 * Freezes an agent's draft for a share of its calls, or returns the version that was made for one and equals
 * it. Throws as `publishAgent` does, and `agent_not_published`, `share_of_published` if it equals the
 * published version.
 */
export async function freezeForShare(
  context: Context,
  teamId: string,
  agentId: string,
): Promise<VersionDocument> {
  return trying(async () => {
    const { agent, frozen } = await freezeDraft(context, teamId, agentId);
    const { last, live } = await publishedBefore(context, agentId);
    if (live.config_hash === frozen.config_hash) throw fault('share_of_published');
    return versionForShare(context, agent, last, frozen);
  });
}

/**
 * Freezes the published version with other settings of its conversation for a share of its calls, whatever
 * the draft is; returns the published version if they are its own. Throws `agent_not_published`,
 * `versions_reached`, `publish_conflict`.
 */
export async function freezeWithConversation(
  context: Context,
  agent: AgentDocument,
  change: Partial<VersionDocument['config']['conversation']>,
): Promise<VersionDocument> {
  return trying(async () => {
    const { last, live } = await publishedBefore(context, agent._id);
    const config = { ...live.config, conversation: { ...live.config.conversation, ...change } };
    const config_hash = configHashWith(config, live);
    if (config_hash === live.config_hash) return live;
    return versionForShare(context, agent, last, { ...frozenIn(live), config, config_hash });
  });
}

/** The parts of a version that a call depends on. */
type Frozen = Pick<
  VersionDocument,
  'config' | 'config_hash' | 'config_updated_at' | 'secrets' | 'tools' | 'knowledge' | 'tool_servers'
>;

/** Repeats an attempt that another publication has overtaken. Throws `publish_conflict`. */
async function trying(publish: () => Promise<VersionDocument | null>): Promise<VersionDocument> {
  for (let attempt = 0; attempt < PUBLISH_ATTEMPTS; attempt++) {
    const version = await publish();
    if (version) return version;
  }
  throw fault('publish_conflict');
}

async function findServingAgent(context: Context, teamId: string, agentId: string): Promise<AgentDocument> {
  const agent = await findAgent(context, teamId, agentId);
  if (agent.status === 'archived') throw fault('agent_archived');
  return agent;
}

async function freezeDraft(
  context: Context,
  teamId: string,
  agentId: string,
): Promise<{ readonly agent: AgentDocument; readonly frozen: Frozen }> {
  const agent = await findServingAgent(context, teamId, agentId);
  const snapshot = await snapshotOf(context, agent);
  await refuseUnreadServers(context, snapshot);
  return { agent, frozen: frozenDraft(agent, snapshot) };
}

function frozenDraft(agent: AgentDocument, snapshot: AgentSnapshot): Frozen {
  return {
    config: snapshot.config,
    config_hash: configHash(snapshot),
    config_updated_at: agent.config_updated_at,
    secrets: snapshot.secrets,
    tools: [...snapshot.tools],
    knowledge: [...snapshot.knowledge],
    ...pinnedServers(snapshot),
  };
}

function frozenIn(version: VersionDocument): Frozen {
  const { config, config_hash, config_updated_at, secrets, tools, knowledge, tool_servers } = version;
  const frozen = { config, config_hash, config_updated_at, secrets, tools, knowledge };
  return tool_servers ? { ...frozen, tool_servers } : frozen;
}

/** Null if another publication took the number meanwhile. */
async function publishFrozen(
  context: Context,
  agent: AgentDocument,
  { frozen, labels }: { readonly frozen: Frozen; readonly labels: VersionLabels },
): Promise<VersionDocument | null> {
  const { last, live } = await versionsBefore(context, agent._id);
  const version =
    live?.config_hash === frozen.config_hash
      ? live
      : await insertAfter(context, agent, last, { frozen, labels, forShare: false });
  if (version) await pointTo(context, version);
  return version;
}

/** The version with the highest number, published or not, and the published one. */
async function versionsBefore(context: Context, agentId: string) {
  // The last first: a version that comes in between has its number, or is the one that is found.
  const last = await context.models.versions
    .findOne({ agent_id: agentId })
    .sort({ version_number: -1 })
    .lean<VersionDocument>();
  return { last, live: await newestVersion(context, agentId) };
}

/** As `versionsBefore`. Throws `agent_not_published`. */
async function publishedBefore(context: Context, agentId: string) {
  const { last, live } = await versionsBefore(context, agentId);
  if (!live) throw fault('agent_not_published');
  return { last, live };
}

/** The last version if it equals this one, otherwise a new one that is not published. */
async function versionForShare(
  context: Context,
  agent: AgentDocument,
  last: VersionDocument | null,
  frozen: Frozen,
): Promise<VersionDocument | null> {
  if (last?.config_hash === frozen.config_hash) return last;
  return insertAfter(context, agent, last, { frozen, labels: NO_LABELS, forShare: true });
}

/** Stores a version under the number after `last`; null if another one has it. Throws `versions_reached`. */
async function insertAfter(
  context: Context,
  agent: AgentDocument,
  last: Pick<VersionDocument, 'version_number' | 'published_at'> | null,
  made: { readonly frozen: Frozen; readonly labels: VersionLabels; readonly forShare: boolean },
): Promise<VersionDocument | null> {
  const limit = context.settings.LIMIT_VERSIONS;
  if ((last?.version_number ?? 0) >= limit) throw fault('versions_reached', { limit });
  const version: VersionDocument = {
    _id: newId(),
    agent_id: agent._id,
    team_id: agent.team_id,
    version_number: (last?.version_number ?? 0) + 1,
    version_title: made.labels.title,
    version_description: made.labels.description,
    ...made.frozen,
    ...(made.forShare ? { for_share: true } : {}),
    // Strictly increasing, so that sorting by time equals sorting by number.
    published_at: new Date(Math.max(context.clock.wallTime(), (last?.published_at.getTime() ?? 0) + 1)),
  };
  try {
    await context.models.versions.create(version);
    return version;
  } catch (error) {
    if (isDuplicateKey(error)) return null;
    throw error;
  }
}

/** An agent with the versions that its calls may have. */
export interface PublishedAgent extends LiveVersions {
  readonly agent: AgentDocument;
}

/** Loads an agent of any team and its live versions for a call; null when the agent does not exist. */
export async function loadPublished(context: Context, agentId: string): Promise<PublishedAgent | null> {
  const [agent, live] = await Promise.all([
    context.caches.agents(agentId, () => context.models.agents.findById(agentId).lean<AgentDocument>()),
    liveVersions(context, agentId),
  ]);
  return agent && { agent, ...live };
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
    ...frozenDraft(agent, snapshot),
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
