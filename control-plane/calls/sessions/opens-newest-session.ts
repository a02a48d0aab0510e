/** Tells whether a key is the deployment's, from the data that is encrypted. */
import { SealBroken } from '#base/sealer.ts';
import { createDataKeys } from '../../platform/secrets/secret-box.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { toBuffer } from '../../platform/store/models/session-model.ts';
import type { Models } from '../../platform/store/models.ts';
import { archivedMonths, type SessionCollection } from '../../platform/store/session-archive.ts';

type Keyed = Pick<SessionDocument, '_id' | 'wrapped_key'>;

/** Whether a deployment key opens the newest session that has a data key; null if none has. */
export async function opensNewestSession(models: Models, deploymentKey: Buffer): Promise<boolean | null> {
  let newest = await newestIn(models.sessions.collection);
  for (const { collection } of newest ? [] : await archivedMonths({ models })) {
    newest = await newestIn(collection);
    if (newest) break;
  }
  if (!newest?.wrapped_key) return null;
  try {
    createDataKeys(deploymentKey).open(newest._id, toBuffer(newest.wrapped_key));
    return true;
  } catch (error) {
    if (error instanceof SealBroken) return false;
    throw error;
  }
}

async function newestIn(collection: SessionCollection): Promise<Keyed | null> {
  const [newest] = await collection
    .find({ wrapped_key: { $ne: null } }, { projection: { wrapped_key: 1 }, sort: { _id: -1 }, limit: 1 })
    .toArray();
  return (newest ?? null) as Keyed | null;
}
