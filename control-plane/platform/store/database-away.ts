/**
 * What the driver throws while the database cannot be asked, or its primary changes: the same request may
 * succeed a moment later.
 */
import mongoose from 'mongoose';

const NAMES = new Set([
  'MongoServerSelectionError',
  'MongooseServerSelectionError',
  'MongoNetworkError',
  'MongoNetworkTimeoutError',
  'MongoNotConnectedError',
  'MongoPoolClearedError',
  'MongoPoolClearedOnNetworkError',
  'MongoPoolClosedError',
  'MongoTopologyClosedError',
  'MongoClientClosedError',
  'MongoWaitQueueTimeoutError',
  'MongoOperationTimeoutError',
  'PoolClearedOnNetworkError',
]);

/**
 * Codes of servers that are stepping down, shutting down, not the primary or too slow to say (MongoDB's
 * error_codes.yml).
 */
const CODES = new Set([
  6, 7, 50, 64, 89, 91, 134, 189, 234, 262, 402, 9001, 10_058, 10_107, 11_600, 11_602, 13_388, 13_435, 13_436,
]);

/** True for an error that is the database's state, and no fault of the request. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (NAMES.has(error.name) || ('code' in error && CODES.has(Number(error.code)) && isOfDriver(error)))
    return true;
  return (
    isOfDriver(error) &&
    (error.hasErrorLabel('RetryableWriteError') || error.hasErrorLabel('TransientTransactionError'))
  );
}

function isOfDriver(error: Error): error is mongoose.mongo.MongoError {
  return error instanceof mongoose.mongo.MongoError;
}

const MANY = new Set<unknown>(['updateMany', 'deleteMany']);

/**
 * Has a model's changes of many documents made once more when the database went away meanwhile, as the driver
 * does for changes of one. They come to the same when part of them was made already.
 */
export function repeatManyChanges(model: object): void {
  // Every model has a class of queries of its own, which mongoose's types leave out.
  const { prototype } = (
    model as { readonly Query: { readonly prototype: mongoose.Query<unknown, unknown> } }
  ).Query;
  const { exec } = prototype;
  prototype.exec = async function repeated(
    this: mongoose.Query<unknown, unknown> & { readonly op?: unknown },
  ) {
    try {
      return await exec.call(this);
    } catch (error) {
      if (!MANY.has(this.op) || !isDatabaseAway(error)) throw error;
      return exec.call(this.clone());
    }
  };
}
