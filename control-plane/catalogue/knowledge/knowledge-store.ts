/**
 * Knowledge sources in the store. Content is written before the source points to it, and kept for at least
 * `REVISION_GRACE_MS` after it is replaced, so that a publication or call planning in progress always finds
 * its revision.
 */

import { runInTurns } from '#base/run-steps.ts';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { chunking } from '#protocol/knowledge-chunks.ts';
import { removeFromQuota, withinQuota } from '../../accounts/limits/quotas.ts';
import { freeBytes, takeBytes } from '../../accounts/limits/stored-bytes.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import { requireRate } from '../../platform/limits/rate.ts';
import { idsOf } from '../../platform/store/ids-of.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { KnowledgeDocument } from '../../platform/store/models/knowledge-model.ts';
import { deleteReferred } from '../agents/references.ts';
import type { KnowledgeInput, KnowledgePatch, UploadedText } from './knowledge-record.ts';

/**
 * How long replaced content that no version pins is kept; far longer than a publication or call planning
 * takes.
 */
const REVISION_GRACE_MS = 10 * 60_000;

/** A source with its latest content. */
export interface KnowledgeWithContent {
  readonly source: KnowledgeDocument;
  readonly content: string;
}

/** Finds a source of a team. Throws `not_found`. */
export async function findSource(
  context: Context,
  teamId: string,
  sourceId: string,
): Promise<KnowledgeDocument> {
  const source = await context.models.knowledge
    .findOne({ _id: sourceId, team_id: teamId })
    .lean<KnowledgeDocument>();
  if (!source) throw fault('not_found');
  return source;
}

/**
 * Reads the latest content of a source. Throws `not_found` when the source has been deleted in the meantime.
 */
export async function withContent(
  context: Context,
  source: KnowledgeDocument,
): Promise<KnowledgeWithContent> {
  const revision = await context.models.knowledgeRevisions.findById(source.revision_id).lean();
  if (!revision) throw fault('not_found');
  return { source, content: revision.content };
}

/** Creates a source with this id and its first revision. Throws `storage_full`, `quota_reached`. */
export async function createSource(
  context: Context,
  owner: { readonly userId: string; readonly teamId: string; readonly workspaceId: string },
  input: KnowledgeInput,
  id: string,
): Promise<KnowledgeWithContent> {
  const at = now(context);
  const source: KnowledgeDocument = {
    _id: id,
    team_id: owner.teamId,
    workspace_id: owner.workspaceId,
    name: input.name ?? input.source.file_name.slice(0, LIMITS.knowledgeNameChars).toWellFormed(),
    description: input.description,
    ...(await keepContent(context, owner, id, input.source)),
    revision_number: 1,
    created_at: at,
    updated_at: at,
  };
  await withinQuota(context, { kind: 'knowledge', owner: owner.teamId, id }, () =>
    context.models.knowledge.create(source),
  ).catch(async (error: unknown) => {
    // Not those of the source: a repeated request may find that another one has made it.
    await dropRevisions(context, owner.teamId, { _id: source.revision_id });
    throw error;
  });
  return { source, content: input.source.content };
}

/**
 * Updates a source; new content becomes a new revision. Throws `not_found`, `storage_full`,
 * `too_many_a_minute`.
 */
export async function patchSource(
  context: Context,
  owner: { readonly userId: string; readonly teamId: string },
  sourceId: string,
  patch: KnowledgePatch,
): Promise<KnowledgeWithContent> {
  const { source: uploaded, ...fields } = patch;
  const { teamId } = owner;
  const before = await findSource(context, teamId, sourceId);
  if (uploaded) {
    const limit = context.settings.LIMIT_CONTENTS_PER_MINUTE;
    await requireRate(context, {
      key: `contents:${teamId}`,
      limit,
      what: 'new contents of knowledge sources',
    });
    // Frees space for the new content.
    await dropUnusedRevisions(context, before);
  }
  const kept = uploaded && (await keepContent(context, owner, sourceId, uploaded));
  if (kept)
    await context.models.knowledgeRevisions.updateOne(
      { _id: before.revision_id },
      { $set: { unused_since: now(context) } },
    );
  const saved = await context.models.knowledge
    .findOneAndUpdate(
      { _id: sourceId, team_id: teamId },
      {
        $set: { ...fields, ...kept, updated_at: now(context) },
        ...(kept ? { $inc: { revision_number: 1 } } : {}),
      },
      { returnDocument: 'after' },
    )
    .lean<KnowledgeDocument>();
  if (!saved) {
    await dropRevisions(context, teamId, { knowledge_source_id: sourceId });
    throw fault('not_found');
  }
  if (!uploaded) return withContent(context, saved);
  return { source: saved, content: uploaded.content };
}

/**
 * Deletes a source with all its revisions. Throws `not_found`, or `knowledge_attached` while an agent uses
 * it.
 */
export async function deleteSource(context: Context, teamId: string, sourceId: string): Promise<void> {
  await findSource(context, teamId, sourceId);
  await removeFromQuota(context, { kind: 'knowledge', owner: teamId, id: sourceId }, () =>
    deleteReferred(context, { kind: 'knowledge', teamId, id: sourceId }, async () => {
      const agents = await dependentsOf(context, sourceId);
      if (agents.length > 0) throw fault('knowledge_attached', { count: agents.length });
    }),
  );
  await dropRevisions(context, teamId, { knowledge_source_id: sourceId });
}

/** Agents that use a source in their draft, published version or share of calls, newest first. */
export async function dependentsOf(
  context: Context,
  sourceId: string,
): Promise<{ agent_id: string; name: string }[]> {
  const places = ['config.knowledge_base.knowledge_source_ids', 'published_knowledge_source_ids'];
  const shares = await context.models.shares
    .find({ knowledge_source_ids: sourceId, status: 'running' }, { _id: 1 })
    .lean<{ _id: string }[]>();
  // One query per index; all agents of a source belong to its team.
  const filters = [
    ...places.map((place) => ({ [place]: sourceId })),
    ...(shares.length > 0 ? [{ _id: { $in: shares.map(({ _id }) => _id) } }] : []),
  ];
  const found = await Promise.all(
    filters.map((filter) =>
      context.models.agents.find(filter, { name: 1, created_at: 1 }).lean<AgentDocument[]>(),
    ),
  );
  const agents = [...new Map(found.flat().map((agent) => [agent._id, agent])).values()];
  agents.sort((a, b) => b.created_at.getTime() - a.created_at.getTime() || (a._id < b._id ? 1 : -1));
  return agents.map((agent) => ({ agent_id: agent._id, name: agent.name }));
}

/** Stores content as a new revision and returns the source fields that describe it. */
async function keepContent(
  context: Context,
  { userId, teamId }: { readonly userId: string; readonly teamId: string },
  sourceId: string,
  { file_name, content }: UploadedText,
): Promise<Pick<KnowledgeDocument, 'file_name' | 'size_bytes' | 'chunk_count' | 'revision_id'>> {
  const revisionId = newId();
  const chunks = await runInTurns(chunking(content));
  await takeBytes(context, { userId, teamId, id: revisionId, bytes: Buffer.byteLength(content) });
  await context.models.knowledgeRevisions.create({
    _id: revisionId,
    knowledge_source_id: sourceId,
    content,
    unused_since: now(context),
  });
  return {
    file_name,
    size_bytes: Buffer.byteLength(content),
    chunk_count: chunks.length,
    revision_id: revisionId,
  };
}

/** Deletes replaced content that no version pins. */
async function dropUnusedRevisions(context: Context, source: KnowledgeDocument): Promise<void> {
  const { knowledgeRevisions, versions } = context.models;
  const before = new Date(context.clock.wallTime() - REVISION_GRACE_MS);
  const replaced = await knowledgeRevisions
    .find(
      { knowledge_source_id: source._id, unused_since: { $lt: before }, _id: { $ne: source.revision_id } },
      { _id: 1 },
    )
    .lean();
  if (replaced.length === 0) return;
  const ids = replaced.map((revision) => revision._id);
  const pinning = await versions.find({ 'knowledge.revision_id': { $in: ids } }, { knowledge: 1 }).lean();
  const pinned = new Set(pinning.flatMap((version) => version.knowledge.map((entry) => entry.revision_id)));
  await dropRevisions(context, source.team_id, { _id: { $in: ids.filter((id) => !pinned.has(id)) } });
}

/** Deletes revisions of a team's content and releases their bytes. */
async function dropRevisions(
  { models }: Context,
  teamId: string,
  which: Readonly<Record<string, unknown>>,
): Promise<void> {
  const ids = await idsOf(models, 'knowledgeRevisions', which);
  await models.knowledgeRevisions.deleteMany({ _id: { $in: ids } });
  await freeBytes({ models }, teamId, ids);
}
