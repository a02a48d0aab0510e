/** Learners in the store: set, read and ended by requests. Every change is guarded by `rev`. */
import { isDeepStrictEqual } from 'node:util';
import { fault } from '#config/errors.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import { newestVersion } from '../../catalogue/agents/newest-version.ts';
import { settledShare, stopShare } from '../../catalogue/agents/share-store.ts';
import { type Context, now } from '../../platform/context.ts';
import type { LearningDocument, LearningEntry } from '../../platform/store/models/learning-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { EAGERNESS, type LearningRules, type Setting } from './candidates.ts';

/** Entries of the history that are kept. */
export const MOST_HISTORY = 100;

/** The setting of a version, or of a draft. */
export function settingOf({ config }: Pick<VersionDocument, 'config'>): Setting {
  const { eagerness, response_wait_ms } = config.conversation;
  return { eagerness, response_wait_ms };
}

/** The rules of a stored learner. */
export function rulesOf(learning: LearningDocument): LearningRules {
  const { wait_min_ms, wait_max_ms, cut_off_bound, share } = learning;
  return {
    ...{ wait_min_ms, wait_max_ms, cut_off_bound, share },
    eagerness: EAGERNESS.filter((one) => learning.eagerness.includes(one)),
  };
}

/** An entry added to a history. */
export function withEntry(history: readonly LearningEntry[], entry: LearningEntry): readonly LearningEntry[] {
  return [...history, entry].slice(-MOST_HISTORY);
}

/** The learner of an agent. Throws `learning_not_set`. */
export async function findLearning(context: Context, agentId: string): Promise<LearningDocument> {
  const found = await context.models.learnings.findById(agentId).lean<LearningDocument>();
  if (!found) throw fault('learning_not_set');
  return found;
}

/**
 * Sets the rules of an agent's learner and lets it go on from the published version and the draft as they are
 * now. Throws `not_found`, `agent_archived`, `agent_not_published`.
 */
export async function setLearning(
  context: Context,
  teamId: string,
  agentId: string,
  rules: LearningRules,
): Promise<LearningDocument> {
  const agent = await findAgent(context, teamId, agentId);
  if (agent.status === 'archived') throw fault('agent_archived');
  const published = await newestVersion(context, agentId);
  if (!published) throw fault('agent_not_published');
  const at = now(context);
  const before = await context.models.learnings.findById(agentId).lean<LearningDocument>();
  const isDropped = before?.trial && !(await isStillWanted(context, before, { rules, published }));
  const did = before ? ('resumed' as const) : ('began' as const);
  const why = `Learns from version ${published.version_number} on.`;
  const set = {
    ...rules,
    team_id: teamId,
    status: 'learning',
    why,
    published_hash: published.config_hash,
    draft_rev: agent.rev,
    history: withEntry(before?.history ?? [], { at, did, why }),
    ...(isDropped ? { trial: null } : {}),
  };
  const fresh = {
    ...(isDropped ? {} : { trial: null }),
    last_share_id: null,
    refused: [],
    created_at: at,
    lease_by: null,
  };
  await context.models.learnings.updateOne(
    { _id: agentId },
    {
      $set: set,
      $inc: { rev: 1 },
      $setOnInsert: { ...fresh, lease_until: null },
    } as never,
    { upsert: true },
  );
  return findLearning(context, agentId);
}

/** Whether a trial may go on: it was chosen by the same rules, or is published and only to be finished. */
async function isStillWanted(
  { models }: Context,
  before: LearningDocument,
  { rules, published }: { readonly rules: LearningRules; readonly published: VersionDocument },
): Promise<boolean> {
  const ordered = { ...rules, eagerness: EAGERNESS.filter((one) => rules.eagerness.includes(one)) };
  if (isDeepStrictEqual(rulesOf(before), ordered)) return true;
  const version = await models.versions.findById(before.trial?.version_id).lean<VersionDocument>();
  return version?.config_hash === published.config_hash;
}

/** Ends learning and its running share; what is published stays. Throws `not_found`, `learning_not_set`. */
export async function endLearning(context: Context, teamId: string, agentId: string): Promise<void> {
  await findAgent(context, teamId, agentId);
  const learning = await findLearning(context, agentId);
  await context.models.learnings.deleteOne({ _id: agentId });
  const share = await settledShare(context, agentId);
  const isOwn =
    share !== null &&
    (share.share_id === learning.last_share_id || share.version_id === learning.trial?.version_id);
  if (isOwn && share.status === 'running') await stopShare(context, teamId, agentId, share.share_id);
}
