/**
 * Places: how many of something an owner may have at once, counted exactly however many ask at the same
 * moment and on however many replicas. One document for each owner names the holders, and one guarded update
 * takes a place: the store lets it through only while the list is shorter than the limit. Nobody has to give
 * a place back. Whoever finds none left looks which holders are over and lets go of theirs, so a process that
 * is killed at any moment leaves nothing that another one does not put right.
 */
import type { Clock } from '#base/clock.ts';
import { isDuplicateKey } from './duplicate-key.ts';
import type { PlaceHolder, PlacesDocument } from './models/place-model.ts';
import type { Models } from './models.ts';

/** A holder that is not stored yet is on its way for this long; after that it never came to be. */
export const ON_ITS_WAY_MS = 60_000;
/** Holders after which a list without a limit is looked through. */
const LONG_LIST = 500;
/** Rounds lost to others who change the same list at the same moment. */
export const ROUNDS = 5;

type Parts = { readonly models: Pick<Models, 'places'>; readonly clock: Pick<Clock, 'wallTime'> };

/** What is counted, and how to find out who still counts. */
export interface CountedPlaces {
  /** `<kind>:<owner>` */
  readonly id: string;
  readonly limit: number;
  /** Which of these holders are stored, and whether each still counts. */
  statesOf(holderIds: readonly string[]): Promise<ReadonlyMap<string, boolean>>;
  /** Holders from before anybody counted. Asked when the owner's first place is taken. */
  earlier?(): Promise<readonly string[]>;
}

/** Takes a place for `holderId`; false when all are taken. */
export async function takePlace(parts: Parts, places: CountedPlaces, holderId: string): Promise<boolean> {
  if (places.limit <= 0) return false;
  if (places.limit === Number.POSITIVE_INFINITY) return true;
  for (let round = 0; round < ROUNDS; round++) {
    if (await take(parts, places, holderId)) return true;
    if (await beginList(parts.models, places.id, () => earlierHolders(parts, places))) continue;
    const { holders = [] } = (await parts.models.places.findById(places.id).lean()) ?? {};
    // Asked for once more, as by whoever repeats what was cut short.
    if (holders.some(({ id }) => id === holderId)) return true;
    if (!(await letGo(parts, places, holders))) return false;
  }
  return false;
}

/** Gives a place back at once, such as that of something that was refused after all. */
export async function freePlace({ models }: Parts, id: string, holderId: string): Promise<void> {
  await models.places.collection.updateOne(
    { _id: id } as never,
    { $pull: { holders: { id: holderId } } } as never,
  );
}

/** Forgets who holds an owner's places: the next one to take a place counts anew what is stored. */
export async function recountPlaces({ models }: Pick<Parts, 'models'>, id: string): Promise<void> {
  await models.places.deleteOne({ _id: id });
}

/**
 * Counts a holder that nobody counted when it was stored, such as one of an older release; where no list is
 * begun yet, its beginning counts it.
 */
export async function countHolder({ models, clock }: Parts, id: string, holderId: string): Promise<void> {
  const guard = { _id: id, 'holders.id': { $ne: holderId } };
  await models.places.collection.updateOne(
    guard as never,
    { $push: { holders: { id: holderId, at: new Date(clock.wallTime()) } } } as never,
  );
}

/**
 * Counts a holder that no limit refuses, where a list is begun, once. A list that has grown long is rid of
 * those who are over.
 */
export async function addHolder(
  parts: Parts,
  places: Pick<CountedPlaces, 'id' | 'statesOf'>,
  holderId: string,
): Promise<void> {
  const list = await parts.models.places.findById(places.id).lean();
  if (!list) return;
  const { holders = [] } = list;
  if (holders.length >= LONG_LIST) await letGo(parts, { ...places, limit: LONG_LIST }, holders);
  await countHolder(parts, places.id, holderId);
}

async function take(
  { models, clock }: Parts,
  { id, limit }: CountedPlaces,
  holderId: string,
): Promise<boolean> {
  const guard = { _id: id, [`holders.${limit - 1}`]: { $exists: false }, 'holders.id': { $ne: holderId } };
  const update = { $push: { holders: { id: holderId, at: new Date(clock.wallTime()) } } };
  return (await models.places.collection.updateOne(guard as never, update as never)).modifiedCount === 1;
}

async function earlierHolders(
  { clock }: Parts,
  { earlier }: CountedPlaces,
): Promise<Pick<PlacesDocument, 'holders'>> {
  const at = new Date(clock.wallTime());
  return { holders: ((await earlier?.()) ?? []).map((id) => ({ id, at })) };
}

/** Starts an owner's list with what `first` says; false when there is one. */
export async function beginList(
  models: Parts['models'],
  id: string,
  first: () => Promise<Omit<PlacesDocument, '_id'>>,
): Promise<boolean> {
  if (await models.places.exists({ _id: id })) return false;
  try {
    await models.places.collection.insertOne({ _id: id, ...(await first()) } as never);
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
  return true;
}

/** Lets go of the places whose holders are over; false when there was none. */
async function letGo(
  { models, clock }: Parts,
  places: CountedPlaces,
  holders: readonly PlaceHolder[],
): Promise<boolean> {
  const states = await places.statesOf(holders.map(({ id }) => id));
  const before = clock.wallTime() - ON_ITS_WAY_MS;
  const over = holders.filter(({ id, at }) => !(states.get(id) ?? at.getTime() > before)).map(({ id }) => id);
  if (over.length === 0) return holders.length < places.limit;
  await models.places.collection.updateOne(
    { _id: places.id } as never,
    { $pull: { holders: { id: { $in: over } } } } as never,
  );
  return true;
}
