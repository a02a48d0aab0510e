import type { Context } from '../../platform/context.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';

/**
 * The published version of an agent, the one with the highest number of those that were not made for a share
 * of calls; null if there is none. The result is cached and shared and must not be modified.
 */
export function newestVersion(
  { models, caches }: Pick<Context, 'models' | 'caches'>,
  agentId: string,
): Promise<VersionDocument | null> {
  return caches.newestVersions(agentId, () =>
    models.versions
      .findOne({ agent_id: agentId, for_share: { $ne: true } })
      .sort({ version_number: -1 })
      .lean<VersionDocument>()
      .exec(),
  );
}
