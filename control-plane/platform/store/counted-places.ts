/**
 * Limits how many of something an owner may have at once ("places"). The limit is exact, however many
 * requests and replicas compete. One document per owner lists the holders, and a single guarded update takes
 * a place: it succeeds only while the list is shorter than the limit. Places need not be returned. When none
 * is left, the requester checks which holders have ended and removes them, so a process killed at any moment
 * leaves nothing that another cannot repair.
 */
import type { Clock } from '#base/clock.ts';
import { isDuplicateKey } from './duplicate-key.ts';
import type { PlaceHolder, PlacesDocument } from './models/place-model.ts';
import type { Models } from './models.ts';

/** A holder not stored yet may still be in creation for this long; after that, its creation has failed. */
export const ON_ITS_WAY_MS = 60_000;
/** List length from which an unlimited list is cleaned up. */
const LONG_LIST = 500;
/** Maximum attempts when others change the same list concurrently. */
export const ROUNDS = 5;

type Parts = { readonly models: Pick<Models, 'places'>; readonly clock: Pick<Clock, 'wallTime'> };

/** What is counted, and how to find out which holders still count. */
export interface CountedPlaces {
  /** `<kind>:<owner>` */
  readonly id: string;
  readonly limit: number;
  /** Looks up which of these holders are stored, and whether each still counts. */
  statesOf(holderIds: readonly string[]): Promise<ReadonlyMap<string, boolean>>;
  /** Holders that predate counting. Read when the owner's first place is taken. */
  earlier?(): Promise<readonly string[]>;
}

/** Takes a place for `holderId`; false if all are taken. */
export async function takePlace(parts: Parts, places: CountedPlaces, holderId: string): Promise<boolean> {
  if (places.limit <= 0) return false;
  if (places.limit === Number.POSITIVE_INFINITY) return true;
  for (let round = 0; round < ROUNDS; round++) {
    if (await take(parts, places, holderId)) return true;
    if (await beginList(parts.models, places.id, () => earlierHolders(parts, places))) continue;
    const { holders = [] } = (await parts.models.places.findById(places.id).lean()) ?? {};
    // Already held: a repeated request after an interrupted one.
    if (holders.some(({ id }) => id === holderId)) return true;
    if (!(await removeEndedHolders(parts, places, holders))) return false;
  }
  return false;
}

/** Returns a place immediately, for example after a refusal. */
export async function freePlace({ models }: Parts, id: string, holderId: string): Promise<void> {
  await models.places.collection.updateOne(
    { _id: id } as never,
    { $pull: { holders: { id: holderId } } } as never,
  );
}

/** Deletes an owner's list of holders; the next request for a place rebuilds it from the stored documents. */
export async function recountPlaces({ models }: Pick<Parts, 'models'>, id: string): Promise<void> {
  await models.places.deleteOne({ _id: id });
}

/**
 * Adds a holder that was not counted when it was stored, for example by an older release. Without a list this
 * does nothing, because creating the list counts it.
 */
export async function countHolder({ models, clock }: Parts, id: string, holderId: string): Promise<void> {
  const guard = { _id: id, 'holders.id': { $ne: holderId } };
  await models.places.collection.updateOne(
    guard as never,
    { $push: { holders: { id: holderId, at: new Date(clock.wallTime()) } } } as never,
  );
}

/**
 * Adds a holder once, regardless of the limit, if the owner has a list. Removes ended holders from a long
 * list first.
 */
export async function addHolder(
  parts: Parts,
  places: Pick<CountedPlaces, 'id' | 'statesOf'>,
  holderId: string,
): Promise<void> {
  const list = await parts.models.places.findById(places.id).lean();
  if (!list) return;
  const { holders = [] } = list;
  if (holders.length >= LONG_LIST) await removeEndedHolders(parts, { ...places, limit: LONG_LIST }, holders);
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

/** Creates an owner's list with the content from `first`; false if one exists. */
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

/** Removes holders that have ended; false if there are none and no place is free. */
async function removeEndedHolders(
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
