/**
 * Limits on the number of sessions in certain statuses: a session is created only if it gets a place, and
 * holds the place while it is in one of those statuses.
 */
import type { Fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { addHolder, type CountedPlaces, freePlace, takePlace } from '../../platform/store/counted-places.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import type { SessionDocument, StoredStatus } from '../../platform/store/models/session-model.ts';

type Parts = Pick<Context, 'models' | 'clock'>;

/** Places for sessions in these statuses; `refusal` is thrown when all are taken. */
export type CountedSessions = Pick<CountedPlaces, 'id' | 'limit' | 'earlier'> & {
  readonly statuses: readonly StoredStatus[];
  readonly refusal: Fault;
};

/**
 * Creates a session that holds one place in each list. Throws the refusal of the first full list, or whatever
 * `create` throws; after an error all places are free again.
 */
export async function holdingPlaces<Created>(
  context: Parts,
  request: { readonly counted: readonly CountedSessions[]; readonly sessionId: string },
  create: () => Promise<Created>,
): Promise<Created> {
  const { counted, sessionId } = request;
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
    // An existing session keeps its places.
    if (!isDuplicateKey(error)) for (const id of taken) await freePlace(context, id, sessionId);
    throw error;
  }
}

/**
 * Creates a session that is never refused but counts towards a limit, if the limit's list exists. Throws
 * whatever `create` throws; after an error the session does not count.
 */
export async function countedIn<Created>(
  context: Parts,
  request: { readonly places: Pick<CountedSessions, 'id' | 'statuses'>; readonly sessionId: string },
  create: () => Promise<Created>,
): Promise<Created> {
  const { places, sessionId } = request;
  const counted = {
    id: places.id,
    statesOf: (ids: readonly string[]) => statesOf(context, ids, places.statuses),
  };
  await addHolder(context, counted, sessionId);
  try {
    const created = await create();
    // Covers a list created after the first `addHolder`, before this session was stored.
    await addHolder(context, counted, sessionId);
    return created;
  } catch (error) {
    // On a duplicate key the session already exists and keeps its place.
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
