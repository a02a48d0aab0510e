/** The agent and the version that an INVITE calls: the published one, or the one of a voice test. */
import { fault } from '#config/errors.ts';
import { newestVersion, versionByNumber } from '../../catalogue/agents/newest-version.ts';
import { draftVersion, loadPublished, type PublishedAgent } from '../../catalogue/agents/publish.ts';
import type { Context } from '../../platform/context.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import type { TestedAgent, TestedVersion } from './test-call.ts';

/** The version that a voice test wants. Throws `agent_not_published`, `tested_version_unknown`. */
export async function versionToTest(
  context: Context,
  agent: AgentDocument,
  wanted: TestedVersion,
): Promise<VersionDocument> {
  if (wanted === 'draft') return draftVersion(context, agent);
  if (wanted === 'published') {
    const version = await newestVersion(context, agent._id);
    if (!version) throw fault('agent_not_published');
    return version;
  }
  const version = await versionByNumber(context, agent._id, wanted);
  if (!version) throw fault('tested_version_unknown', { version: wanted });
  return version;
}

/**
 * The agent that answers a number, and the version of the call. Throws `number_unbound`,
 * `agent_not_published`, `agent_archived`, `tested_version_unknown`.
 */
export async function findCalledVersion(
  context: Context,
  number: NumberDocument,
  tested: TestedAgent | null,
): Promise<PublishedAgent & { readonly version: VersionDocument }> {
  const published = number.agent_id === null ? null : await loadPublished(context, number.agent_id);
  if (!published) throw fault('number_unbound');
  const version = tested ? await versionToTest(context, published.agent, tested.version) : published.version;
  if (!version) throw fault('agent_not_published');
  if (published.agent.status === 'archived') throw fault('agent_archived');
  return { ...published, version };
}
