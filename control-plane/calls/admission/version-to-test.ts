/** The version of an agent that a voice test calls. */
import { fault } from '#config/errors.ts';
import { newestVersion } from '../../catalogue/agents/newest-version.ts';
import { draftVersion } from '../../catalogue/agents/publish.ts';
import type { Context } from '../../platform/context.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import type { TestedVersion } from './test-call.ts';

/** Throws `agent_not_published`, `tested_version_unknown`. */
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
  const version = await context.models.versions
    .findOne({ agent_id: agent._id, version_number: wanted })
    .lean<VersionDocument>();
  if (!version) throw fault('tested_version_unknown', { version: wanted });
  return version;
}
