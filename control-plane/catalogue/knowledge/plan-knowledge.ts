/** Knowledge for a call's plan: each attached source as frozen in the version. */
import type { AgentConfig } from '#config/agent-config.ts';
import { LIMITS } from '#config/limits.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { Context } from '../../platform/context.ts';
import type { PinnedKnowledge, VersionDocument } from '../../platform/store/models/version-model.ts';

/** The version fields needed for its knowledge. */
type VersionKnowledge = Pick<VersionDocument, 'agent_id' | 'knowledge'> & {
  readonly config: Pick<AgentConfig, 'knowledge_base'>;
};

/**
 * Reads the pinned contents in order of attachment; empty when knowledge is disabled. Leaves out deleted
 * sources, and sources at the end that would make the plan exceed one frame of the worker link; both are
 * logged.
 */
export async function planKnowledge(
  context: Pick<Context, 'models' | 'logger'>,
  version: VersionKnowledge,
): Promise<CallPlan['knowledge']> {
  if (!version.config.knowledge_base.enabled || version.knowledge.length === 0) return [];
  const wanted = selectFitting(version.knowledge);
  const found = await context.models.knowledgeRevisions
    .find({ _id: { $in: wanted.map((pinned) => pinned.revision_id) } })
    .lean();
  const contents = new Map(found.map((revision) => [revision._id, revision.content]));
  const planned = wanted.flatMap(({ knowledge_source_id, name, revision_id }) => {
    const content = contents.get(revision_id);
    return content === undefined ? [] : [{ knowledge_source_id, name, content }];
  });
  if (planned.length < version.knowledge.length)
    context.logger.warn(
      { agentId: version.agent_id, attached: version.knowledge.length, planned: planned.length },
      'left some knowledge sources out of a call plan',
    );
  return planned;
}

/** The leading sources that fit the size limit together. */
function selectFitting(knowledge: readonly PinnedKnowledge[]): readonly PinnedKnowledge[] {
  let bytes = 0;
  const tooMuch = knowledge.findIndex((pinned) => {
    bytes += pinned.size_bytes;
    return bytes > LIMITS.planKnowledgeBytes;
  });
  return tooMuch === -1 ? knowledge : knowledge.slice(0, tooMuch);
}
