/** Tells whether a key is the deployment's, from the data that is encrypted. */
import { SealBroken } from '#base/sealer.ts';
import { createDataKeys } from '../../platform/secrets/secret-box.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { toBuffer } from '../../platform/store/models/session-model.ts';
import type { Models } from '../../platform/store/models.ts';

/** Whether a deployment key opens the newest session that has a data key; null if none has. */
export async function opensNewestSession(
  { sessions }: Models,
  deploymentKey: Buffer,
): Promise<boolean | null> {
  const newest = await sessions
    .findOne({ wrapped_key: { $ne: null } }, { wrapped_key: 1 })
    .sort({ _id: -1 })
    .lean<Pick<SessionDocument, '_id' | 'wrapped_key'>>();
  if (!newest?.wrapped_key) return null;
  try {
    createDataKeys(deploymentKey).open(newest._id, toBuffer(newest.wrapped_key));
    return true;
  } catch (error) {
    if (error instanceof SealBroken) return false;
    throw error;
  }
}
