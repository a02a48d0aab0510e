/** Changes a document under the guard of its `rev`, so that several processes may compute the change. */
import type { Model } from 'mongoose';
import { isDuplicateKey } from './duplicate-key.ts';

interface Update {
  readonly $set: object;
  readonly $push?: object;
}

/**
 * Changes a document unless another process has since `rev`; with null, creates it. False after a conflict.
 */
export async function replaceGuarded<Stored extends { _id: string }>(
  { collection }: Model<Stored>,
  { id, rev }: { readonly id: string; readonly rev: number | null },
  update: Update,
): Promise<boolean> {
  const filter = { _id: id, rev } as never;
  if (rev !== null) return (await collection.updateOne(filter, update as never)).matchedCount === 1;
  try {
    // One that exists has a `rev`, so that the insert meets its id.
    const { upsertedCount } = await collection.updateOne(filter, update as never, { upsert: true });
    return upsertedCount === 1;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return false;
  }
}
