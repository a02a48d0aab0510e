/**
 * Inserts documents without mongoose validation, for the hot paths of every call; their types guarantee that
 * they are complete.
 */
import mongoose, { type Model } from 'mongoose';
import { isDuplicateKey } from './duplicate-key.ts';

/**
 * Inserts a document unchanged, without defaults, casts or validators. Those would copy and check every field
 * again, which for a session is more work than the insert itself. Rejects with the driver's error for a
 * duplicate key.
 */
export async function insertDocument<Whole extends { _id: string }>(
  model: Model<Whole>,
  document: Whole,
): Promise<void> {
  await model.collection.insertOne(document as never);
}

/** Inserts documents unchanged, in one operation; returns those refused by a unique index. */
export async function insertDocuments<Whole extends { _id: string }>(
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
    if (refusals.length === 0 || !refusals.every(isDuplicateKey)) throw unwrapped(error);
    return refusals.flatMap(({ index }) => documents[index] ?? []);
  }
}

/**
 * Inserts documents unchanged, in order and in one operation, up to the first that a unique index refuses;
 * returns how many were inserted.
 */
export async function insertInOrder<Whole extends { _id: string }>(
  model: Model<Whole>,
  documents: readonly Whole[],
): Promise<number> {
  const [only, ...others] = documents;
  try {
    // The driver does more work for several.
    if (only && others.length === 0) await insertDocument(model, only);
    else await model.collection.insertMany(documents as never, { ordered: true });
    return documents.length;
  } catch (error) {
    if (others.length === 0 && isDuplicateKey(error)) return 0;
    if (!(error instanceof mongoose.mongo.MongoBulkWriteError)) throw error;
    if (!isDuplicateKey(error)) throw unwrapped(error);
    const [refusal] = [error.writeErrors].flat();
    // Those before it may not be on a majority of the servers.
    if (!refusal || error.result.getWriteConcernError()) throw error;
    return refusal.index;
  }
}

/** The driver's own error, which tells whether the database is away: it wraps those of several documents. */
function unwrapped(error: mongoose.mongo.MongoBulkWriteError): Error {
  return error.errorResponse instanceof Error ? error.errorResponse : error;
}
