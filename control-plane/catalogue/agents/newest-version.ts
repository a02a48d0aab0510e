/** The live version of an agent. */
import type { Context } from '../../platform/context.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';

/** The version with an agent's highest number; null before the first. It is shared: nobody changes it. */
export function newestVersion(
  { models, remembered }: Pick<Context, 'models' | 'remembered'>,
  agentId: string,
): Promise<VersionDocument | null> {
  return remembered.newestVersions(agentId, () =>
    models.versions
      .findOne({ agent_id: agentId })
      .sort({ version_number: -1 })
      .lean<VersionDocument>()
      .exec(),
  );
}
