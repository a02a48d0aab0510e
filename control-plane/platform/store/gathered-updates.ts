/**
 * Guarded updates of single documents, sent as one command if they come at the same time: most of what a
 * small update costs, here and in the store, is its command.
 */
import { nextTick } from 'node:process';
import mongoose, { type Model } from 'mongoose';

/** An update of one document. It may be sent twice: its guard must not allow that. */
export interface GuardedUpdate {
  /** The id, and what must still be true. */
  readonly filter: { readonly _id: string } & Readonly<Record<string, unknown>>;
  readonly update: object;
  /** True of the document once this update has been applied, and not before. */
  readonly mark: Readonly<Record<string, unknown>>;
}

type Collection = Model<unknown>['collection'];

interface WaitingUpdate extends PromiseWithResolvers<boolean> {
  readonly guarded: GuardedUpdate;
}

const waitingOf = new WeakMap<Collection, WaitingUpdate[]>();

/**
 * Sends an update with those that others send before their promises have settled. Resolves to whether it was
 * applied.
 */
export function updateTogether(
  { collection }: { readonly collection: Collection },
  guarded: GuardedUpdate,
): Promise<boolean> {
  const waiting = { guarded, ...Promise.withResolvers<boolean>() };
  const others = waitingOf.get(collection);
  if (others) others.push(waiting);
  else {
    const all = [waiting];
    waitingOf.set(collection, all);
    nextTick(() => {
      waitingOf.delete(collection);
      void sendAll(collection, all);
    });
  }
  return waiting.promise;
}

async function sendAll(collection: Collection, all: readonly WaitingUpdate[]): Promise<void> {
  try {
    const areAllApplied = all.length > 1 && (await sendTogether(collection, all));
    for (const { guarded, resolve, reject } of all) {
      if (areAllApplied) resolve(true);
      else sendAlone(collection, guarded, all.length > 1).then(resolve, reject);
    }
  } catch (error) {
    for (const { reject } of all) reject(error);
  }
}

/** False: one of them was not applied, and the answer does not say which. */
async function sendTogether(collection: Collection, all: readonly WaitingUpdate[]): Promise<boolean> {
  const operations = all.map(({ guarded: { filter, update } }) => ({ updateOne: { filter, update } }));
  try {
    const { matchedCount } = await collection.bulkWrite(operations as never, { ordered: false });
    return matchedCount === all.length;
  } catch (error) {
    const isRefused = error instanceof mongoose.mongo.MongoBulkWriteError;
    if (isRefused && [error.writeErrors].flat().length > 0) return false;
    throw error;
  }
}

/** `isRepeated`: it may have been applied already. */
async function sendAlone(
  collection: Collection,
  { filter, update, mark }: GuardedUpdate,
  isRepeated: boolean,
): Promise<boolean> {
  const { matchedCount } = await collection.updateOne(filter as never, update as never);
  if (matchedCount === 1 || !isRepeated) return matchedCount === 1;
  const applied = { _id: filter._id, ...mark };
  return (await collection.findOne(applied as never, { projection: { _id: 1 } })) !== null;
}
