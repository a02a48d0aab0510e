/** The live version of an agent. Versions never change, so the newest one seen of an agent is kept, and the store is only asked for a newer one. */
import type { Context } from '../context.ts';
import type { VersionDocument } from '../store/models/version-model.ts';
import type { Models } from '../store/models.ts';

/** Agents whose newest version is kept; a version is some kilobytes. */
const MAX_KEPT = 500;

const kept = new WeakMap<Models['versions'], Map<string, VersionDocument>>();

/** The version with an agent's highest number; null before the first. It is shared: nobody changes it. */
export function newestVersion({ models, remembered }: Pick<Context, 'models' | 'remembered'>, agentId: string): Promise<VersionDocument | null> {
  return remembered.newestVersions(agentId, () => askForNewer(models, agentId));
}

async function askForNewer(models: Models, agentId: string): Promise<VersionDocument | null> {
  const ofAgents = keptOf(models.versions);
  const known = ofAgents.get(agentId);
  const newer = await models.versions
    .findOne({ agent_id: agentId, ...(known && { version_number: { $gt: known.version_number } }) })
    .sort({ version_number: -1 })
    .lean<VersionDocument>();
  const newest = newer ?? known ?? null;
  if (newest) keep(ofAgents, newest);
  return newest;
}

/** Forgets an agent that is deleted. */
export function forgetVersions({ models }: Pick<Context, 'models'>, agentId: string): void {
  keptOf(models.versions).delete(agentId);
}

function keptOf(versions: Models['versions']): Map<string, VersionDocument> {
  const found = kept.get(versions) ?? new Map<string, VersionDocument>();
  kept.set(versions, found);
  return found;
}

/** The one used last stands last; two questions at once may come back out of order. */
function keep(ofAgents: Map<string, VersionDocument>, version: VersionDocument): void {
  const { agent_id: agentId } = version;
  const known = ofAgents.get(agentId);
  ofAgents.delete(agentId);
  ofAgents.set(agentId, known && known.version_number >= version.version_number ? known : version);
  for (const oldest of ofAgents.keys()) {
    if (ofAgents.size <= MAX_KEPT) break;
    ofAgents.delete(oldest);
  }
}
