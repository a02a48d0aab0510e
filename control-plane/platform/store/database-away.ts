/**
 * Recognises driver errors caused by an unreachable database or a change of primary: the same request may
 * succeed a moment later.
 */
import { setImmediate as nextRound } from 'node:timers/promises';
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
  'DatabaseWaitError',
]);

/**
 * Error codes of servers that are stepping down, shutting down, not primary, or too slow to answer (MongoDB's
 * error_codes.yml).
 */
const CODES = new Set([
  6, 7, 50, 64, 89, 91, 134, 189, 234, 262, 402, 9001, 10_058, 10_107, 11_600, 11_602, 13_388, 13_435, 13_436,
]);

/** True for an error caused by the state of the database, not by the request. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (
    NAMES.has(error.name) ||
    isUnsent(error) ||
    ('code' in error && CODES.has(Number(error.code)) && isOfDriver(error))
  )
    return true;
  return (
    isOfDriver(error) &&
    (error.hasErrorLabel('RetryableWriteError') || error.hasErrorLabel('TransientTransactionError'))
  );
}

function isOfDriver(error: Error): error is mongoose.mongo.MongoError {
  return error instanceof mongoose.mongo.MongoError;
}

/**
 * Node's error for a write to a socket that the server has ended. The driver passes it on as it is, without
 * another attempt. Nothing has been sent.
 */
function isUnsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE' && !('syscall' in error);
}

const UNSENT_ATTEMPTS = 5;

/** Sends a command; again if the server had ended the connection before anything was sent. */
export async function sendOnOpenConnection<Result>(send: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send();
    } catch (error) {
      if (!isUnsent(error) || attempt === UNSENT_ATTEMPTS) throw error;
      await nextRound();
    }
  }
}

const MANY = new Set<unknown>(['updateMany', 'deleteMany']);

/**
 * Retries a model's multi-document changes once if the database became unavailable, as the driver does for
 * single documents. These changes are idempotent, so a partly applied one can be repeated.
 */
export function repeatManyChanges(model: object): void {
  // Each model has its own query class, which mongoose's types omit.
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
