/** Sessions that take a place for as long as they are in some statuses: created only while there is one. */
import type { Fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import type { SessionDocument, StoredStatus } from '../../platform/store/models/session-model.ts';
import { addHolder, type CountedPlaces, freePlace, takePlace } from '../../platform/store/places.ts';

type Parts = Pick<Context, 'models' | 'clock'>;

/** Places of sessions in these statuses; `refusal` is thrown when all are taken. */
export type CountedSessions = Pick<CountedPlaces, 'id' | 'limit' | 'earlier'> & {
  readonly statuses: readonly StoredStatus[];
  readonly refusal: Fault;
};

/**
 * Creates a session that holds a place of each. Throws the refusal of the first that is full, and what
 * `create` throws; no place stays taken then.
 */
export async function holdingPlaces<Created>(
  context: Parts,
  of: { readonly counted: readonly CountedSessions[]; readonly sessionId: string },
  create: () => Promise<Created>,
): Promise<Created> {
  const { counted, sessionId } = of;
  const taken: string[] = [];
  try {
    for (const places of counted) {
      const { statuses, refusal, ...rest } = places;
      if (
        !(await takePlace(
          context,
          { ...rest, statesOf: (ids) => statesOf(context, ids, statuses) },
          sessionId,
        ))
      )
        throw refusal;
      taken.push(places.id);
    }
    return await create();
  } catch (error) {
    // One that is there already keeps its places.
    if (!isDuplicateKey(error)) for (const id of taken) await freePlace(context, id, sessionId);
    throw error;
  }
}

/**
 * Creates a session that nothing refuses and that counts for those who have a limit, if anybody counts.
 * Throws what `create` throws; nothing is counted then.
 */
export async function countedIn<Created>(
  context: Parts,
  of: { readonly places: Pick<CountedSessions, 'id' | 'statuses'>; readonly sessionId: string },
  create: () => Promise<Created>,
): Promise<Created> {
  const { places, sessionId } = of;
  const counted = {
    id: places.id,
    statesOf: (ids: readonly string[]) => statesOf(context, ids, places.statuses),
  };
  await addHolder(context, counted, sessionId);
  try {
    const created = await create();
    // A list that was begun meanwhile knows it, or had begun before it was stored.
    await addHolder(context, counted, sessionId);
    return created;
  } catch (error) {
    // One that is there already keeps its place.
    if (!isDuplicateKey(error)) await freePlace(context, places.id, sessionId);
    throw error;
  }
}

async function statesOf(
  { models }: Parts,
  ids: readonly string[],
  statuses: readonly StoredStatus[],
): Promise<ReadonlyMap<string, boolean>> {
  const sessions = await models.sessions
    .find({ _id: { $in: ids } }, { status: 1 })
    .lean<Pick<SessionDocument, '_id' | 'status'>[]>();
  return new Map(sessions.map(({ _id, status }) => [_id, statuses.includes(status)]));
}
