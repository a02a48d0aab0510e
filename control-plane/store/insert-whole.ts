/** Inserting a document that is whole by its type, on the paths every call takes. */
import type { Model } from 'mongoose';

/**
 * Inserts a document as it is: no defaults, casts or validators, which would copy and check every field of it once more
 * (for a session more work than the insert itself). Rejects with the driver's error for a duplicate key.
 */
export async function insertWhole<Whole extends { _id: string }>(model: Model<Whole>, document: Whole): Promise<void> {
  await model.collection.insertOne(document as never);
}
