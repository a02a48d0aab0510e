/**
 * Integrity of references from drafts to tools, sources and tool servers while one side attaches and the
 * other deletes: no draft keeps a reference to a deleted object. A deletion first marks the object and then
 * looks for drafts; an attachment is first stored and then checks the mark. The later of the two detects the
 * other and is undone.
 */
import type { Context } from '../../platform/context.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';

/** An interrupted deletion stops blocking attachments after this time. */
const DELETION_MS = 60_000;

type Parts = Pick<Context, 'models' | 'clock'>;
type ReferenceKind = keyof typeof FIELDS;

const FIELDS = {
  tools: 'config.tools.tool_ids',
  knowledge: 'config.knowledge_base.knowledge_source_ids',
  toolServers: 'config.tool_servers.tool_server_ids',
} as const;

/** The ids that exist, belong to the team and are not being deleted. */
export async function attachable(
  context: Parts,
  kind: ReferenceKind,
  teamId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const since = new Date(context.clock.wallTime() - DELETION_MS);
  const found = await collectionOf(context, kind)
    .find({ _id: { $in: ids }, team_id: teamId, deleting_at: { $not: { $gt: since } } } as never, {
      projection: { _id: 1 },
    })
    .toArray();
  return new Set(found.map(({ _id }) => String(_id)));
}

/**
 * Detaches newly attached objects that are being deleted from a draft that was just stored; returns true if
 * there were any.
 */
export async function detachDeleted(
  context: Parts,
  stored: AgentDocument,
  before: AgentDocument['config'] | null,
): Promise<boolean> {
  const gone = await Promise.all(
    (['tools', 'knowledge', 'toolServers'] as const).map(async (kind) => {
      const known = before ? idsIn(before, kind) : [];
      const added = idsIn(stored.config, kind).filter((id) => !known.includes(id));
      const existing = await attachable(context, kind, stored.team_id, added);
      const missing = added.filter((id) => !existing.has(id));
      if (missing.length > 0) await detach(context, { _id: stored._id }, kind, missing);
      return missing;
    }),
  );
  return gone.flat().length > 0;
}

/** Deletes a tool or source unless it is in use, in which case `requireUnused` throws. */
export async function deleteReferred(
  context: Parts,
  object: { readonly kind: ReferenceKind; readonly teamId: string; readonly id: string },
  requireUnused: () => Promise<void>,
): Promise<void> {
  const { kind, teamId, id } = object;
  const documents = collectionOf(context, kind);
  const one = { _id: id, team_id: teamId } as never;
  await documents.updateOne(one, { $set: { deleting_at: new Date(context.clock.wallTime()) } });
  try {
    await requireUnused();
  } catch (error) {
    await documents.updateOne(one, { $unset: { deleting_at: '' } });
    throw error;
  }
  await documents.deleteOne(one);
  // Covers an attachment stored in the meantime by a process that died before undoing it.
  await detach(context, { team_id: teamId, [FIELDS[kind]]: id }, kind, [id]);
}

function idsIn(config: AgentDocument['config'], kind: ReferenceKind): readonly string[] {
  if (kind === 'toolServers') return config.tool_servers?.tool_server_ids ?? [];
  return kind === 'tools' ? config.tools.tool_ids : config.knowledge_base.knowledge_source_ids;
}

async function detach(
  { models }: Parts,
  drafts: Record<string, unknown>,
  kind: ReferenceKind,
  ids: readonly string[],
): Promise<void> {
  await models.agents.collection.updateMany(
    drafts as never,
    { $pull: { [FIELDS[kind]]: { $in: ids } }, $inc: { rev: 1 } } as never,
  );
  if (kind !== 'toolServers') return;
  // The section is absent without a server.
  const { [FIELDS[kind]]: _ids, ...owner } = drafts;
  await models.agents.collection.updateMany(
    { ...owner, [FIELDS[kind]]: [] } as never,
    { $unset: { 'config.tool_servers': '' }, $inc: { rev: 1 } } as never,
  );
}

function collectionOf({ models }: Parts, kind: ReferenceKind) {
  return models[kind].collection;
}
