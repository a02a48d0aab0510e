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

/**
 * A version by its id; null once it is deleted with its agent. The result is cached and shared and must not
 * be modified.
 */
export function versionById(
  { models, caches }: Pick<Context, 'models' | 'caches'>,
  id: string,
): Promise<VersionDocument | null> {
  return caches.versions(id, () => models.versions.findById(id).lean<VersionDocument>().exec());
}

/** A version of an agent by its number; null if there is none. */
export async function versionByNumber(
  { models }: Pick<Context, 'models'>,
  agentId: string,
  number: number,
): Promise<VersionDocument | null> {
  return models.versions.findOne({ agent_id: agentId, version_number: number }).lean<VersionDocument>();
}
