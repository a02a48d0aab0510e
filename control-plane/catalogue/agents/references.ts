/**
 * What drafts refer to, kept whole while it is attached and deleted at once: no draft is left with a tool or
 * source that is gone. A deletion marks first and looks for drafts then; an attachment is stored first and
 * looks at the mark then. Whichever comes second sees the other and steps back.
 */
import type { Context } from '../../platform/context.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';

/** A deletion that was cut short holds nothing up for longer. */
const DELETION_MS = 60_000;

type Parts = Pick<Context, 'models' | 'clock'>;
type Referred = 'tools' | 'knowledge';

const FIELDS = {
  tools: 'config.tools.tool_ids',
  knowledge: 'config.knowledge_base.knowledge_source_ids',
} as const;

/** Those of these ids that are there, of the team, and not about to be deleted. */
export async function attachable(
  context: Parts,
  of: Referred,
  teamId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const since = new Date(context.clock.wallTime() - DELETION_MS);
  const found = await collectionOf(context, of)
    .find({ _id: { $in: ids }, team_id: teamId, deleting_at: { $not: { $gt: since } } } as never, {
      projection: { _id: 1 },
    })
    .toArray();
  return new Set(found.map(({ _id }) => String(_id)));
}

/**
 * Takes back what a draft that was just stored has newly attached and what is being deleted; true when there
 * was such.
 */
export async function stepBack(
  context: Parts,
  stored: AgentDocument,
  before: AgentDocument['config'] | null,
): Promise<boolean> {
  const gone = await Promise.all(
    (['tools', 'knowledge'] as const).map(async (of) => {
      const known = before ? idsIn(before, of) : [];
      const added = idsIn(stored.config, of).filter((id) => !known.includes(id));
      const there = await attachable(context, of, stored.team_id, added);
      const missing = added.filter((id) => !there.has(id));
      if (missing.length > 0) await detach(context, { _id: stored._id }, of, missing);
      return missing;
    }),
  );
  return gone.flat().length > 0;
}

/** Deletes a tool or source unless somebody refers to it: `requireUnused` throws then. */
export async function deleteReferred(
  context: Parts,
  what: { readonly of: Referred; readonly teamId: string; readonly id: string },
  requireUnused: () => Promise<void>,
): Promise<void> {
  const { of, teamId, id } = what;
  const documents = collectionOf(context, of);
  const one = { _id: id, team_id: teamId } as never;
  await documents.updateOne(one, { $set: { deleting_at: new Date(context.clock.wallTime()) } });
  try {
    await requireUnused();
  } catch (error) {
    await documents.updateOne(one, { $unset: { deleting_at: '' } });
    throw error;
  }
  await documents.deleteOne(one);
  // An attachment stored in between, by a process that did not live to step back.
  await detach(context, { team_id: teamId, [FIELDS[of]]: id }, of, [id]);
}

function idsIn(config: AgentDocument['config'], of: Referred): readonly string[] {
  return of === 'tools' ? config.tools.tool_ids : config.knowledge_base.knowledge_source_ids;
}

async function detach(
  { models }: Parts,
  drafts: Record<string, unknown>,
  of: Referred,
  ids: readonly string[],
): Promise<void> {
  await models.agents.collection.updateMany(
    drafts as never,
    { $pull: { [FIELDS[of]]: { $in: ids } }, $inc: { rev: 1 } } as never,
  );
}

function collectionOf({ models }: Parts, of: Referred) {
  return of === 'tools' ? models.tools.collection : models.knowledge.collection;
}
