/**
 * Guarded updates of single documents, sent as one command if they come at the same time: most of what a
 * small update costs, here and in the store, is its command. No update waits for others to come.
 */
import { nextTick } from 'node:process';
import mongoose, { type Model } from 'mongoose';

/** The others of a command wait for the slowest of its updates. The driver limits its bytes. */
const MOST_TOGETHER = 100;

/** An update of one document. It may be sent twice: its guard must not allow that. */
export interface GuardedUpdate {
  /** The id, and what must still be true. */
  readonly filter: { readonly _id: string } & Readonly<Record<string, unknown>>;
  readonly update: object;
  /** Fields as they are once this update has been applied, and not before. */
  readonly mark: Readonly<Record<string, number>>;
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
  if (others && others.length < MOST_TOGETHER) others.push(waiting);
  else {
    const all = [waiting];
    waitingOf.set(collection, all);
    nextTick(() => {
      if (waitingOf.get(collection) === all) waitingOf.delete(collection);
      void sendAll(collection, all);
    });
  }
  return waiting.promise;
}

async function sendAll(collection: Collection, all: readonly WaitingUpdate[]): Promise<void> {
  const isRepeated = all.length > 1;
  try {
    const isApplied = isRepeated ? await sendTogether(collection, all) : () => false;
    for (const { guarded, resolve, reject } of all) {
      if (isApplied(guarded)) resolve(true);
      else sendAlone(collection, guarded, isRepeated).then(resolve, reject);
    }
  } catch (error) {
    for (const { reject } of all) reject(error);
  }
}

/** Resolves to which of them are known to be applied. */
async function sendTogether(
  collection: Collection,
  all: readonly WaitingUpdate[],
): Promise<(guarded: GuardedUpdate) => boolean> {
  const operations = all.map(({ guarded: { filter, update } }) => ({ updateOne: { filter, update } }));
  try {
    const { matchedCount } = await collection.bulkWrite(operations as never, { ordered: false });
    return matchedCount === all.length ? () => true : await marked(collection, all);
  } catch (error) {
    const isRefused = error instanceof mongoose.mongo.MongoBulkWriteError;
    if (isRefused && [error.writeErrors].flat().length > 0) return () => false;
    throw error;
  }
}

/** The answer to a command says how many updates were applied, not which: reads the marks of all. */
async function marked(
  collection: Collection,
  all: readonly WaitingUpdate[],
): Promise<(guarded: GuardedUpdate) => boolean> {
  const ids = all.map(({ guarded }) => guarded.filter._id);
  const fields = all.flatMap(({ guarded }) => Object.keys(guarded.mark));
  const projection = Object.fromEntries(fields.map((field) => [field, 1]));
  const found = await collection.find({ _id: { $in: ids } } as never, { projection }).toArray();
  const documents = new Map(found.map((document) => [String(document._id), document]));
  return ({ filter, mark }) => {
    const document = documents.get(filter._id);
    return Object.entries(mark).every(([field, value]) => document?.[field] === value);
  };
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
