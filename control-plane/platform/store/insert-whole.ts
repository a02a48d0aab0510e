/** Inserting a document that is whole by its type, on the paths every call takes. */
import mongoose, { type Model } from 'mongoose';
import { isDuplicateKey } from './duplicate-key.ts';

/**
 * Inserts a document as it is: no defaults, casts or validators, which would copy and check every field of it
 * once more (for a session more work than the insert itself). Rejects with the driver's error for a duplicate
 * key.
 */
export async function insertWhole<Whole extends { _id: string }>(
  model: Model<Whole>,
  document: Whole,
): Promise<void> {
  await model.collection.insertOne(document as never);
}

/** Inserts documents as they are, in one operation; returns those a unique index refused. */
export async function insertNew<Whole extends { _id: string }>(
  model: Model<Whole>,
  documents: readonly Whole[],
): Promise<Whole[]> {
  if (documents.length === 0) return [];
  try {
    await model.collection.insertMany(documents as never, { ordered: false });
    return [];
  } catch (error) {
    if (!(error instanceof mongoose.mongo.MongoBulkWriteError)) throw error;
    const refusals = [error.writeErrors].flat();
    if (refusals.length === 0 || !refusals.every(isDuplicateKey)) throw error;
    return refusals.flatMap(({ index }) => documents[index] ?? []);
  }
}
