/**
 * Limits of the trunk behind a number, shared by single calls and batches: how many at once, and how many a
 * minute. Calls that run are not cut off; of those placed in the same moment no more than the limit pass, on
 * however many replicas. A number without a limit that shares the trunk is never refused, and its calls count
 * for those that have one.
 */
import { fault } from '#config/errors.ts';
import { countedIn, holdingPlaces } from '../../accounts/limits/session-places.ts';
import type { Context } from '../../platform/context.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import { UNDER_WAY_STATUSES } from '../../platform/store/session-status.ts';

const MINUTE_MS = 60_000;

type Parts = Pick<Context, 'models' | 'coordination' | 'clock'>;

/** A call that is about to leave by a number's trunk. */
export interface TrunkCall {
  readonly number: NumberDocument;
  readonly sessionId: string;
}

/**
 * Runs `place`, which stores the session of a call, if one more may leave by this number's trunk now. Throws
 * `concurrent_calls_reached` or `rate_limited` otherwise.
 */
export async function placeOnTrunk<Placed>(
  context: Parts,
  { number, sessionId }: TrunkCall,
  place: () => Promise<Placed>,
): Promise<Placed> {
  const limit = number.trunk_limits?.concurrent_calls ?? null;
  const paced = async () => {
    await requireModestPace(context, number);
    return place();
  };
  const places = { id: trunkPlaces(number), statuses: UNDER_WAY_STATUSES };
  if (limit === null) return isShared(number) ? countedIn(context, { places, sessionId }, paced) : paced();
  const refusal = fault('concurrent_calls_reached', { of: 'trunk', limit });
  return holdingPlaces(
    context,
    { counted: [{ ...places, limit, earlier: () => callsOn(context, number), refusal }], sessionId },
    paced,
  );
}

/** Where the calls on a number's trunk are counted. */
export function trunkPlaces(number: Pick<NumberDocument, '_id' | 'team_id' | 'sip'>): string {
  return `trunk-calls:${trunkKey(number)}`;
}

async function requireModestPace({ coordination }: Parts, number: NumberDocument): Promise<void> {
  const limit = number.trunk_limits?.calls_per_minute ?? null;
  if (limit === null) return;
  const { allowed, resetMs } = await coordination.countInWindow(
    `trunk:${trunkKey(number)}`,
    limit,
    MINUTE_MS,
  );
  if (!allowed) throw fault('rate_limited', { seconds: Math.ceil(resetMs / 1000) });
}

function isShared({ sip }: Pick<NumberDocument, 'sip'>): boolean {
  return Boolean(sip?.termination_uri);
}

/**
 * Imported numbers of a team that dial through the same address share a trunk; a managed number is one of its
 * own.
 */
function trunkKey({ _id, team_id, sip }: Pick<NumberDocument, '_id' | 'team_id' | 'sip'>): string {
  return sip?.termination_uri ? `${team_id}:${sip.termination_uri}` : _id;
}

/** Sessions of the live calls on the trunk. */
async function callsOn({ models }: Pick<Context, 'models'>, number: NumberDocument): Promise<string[]> {
  const { team_id, phone_number, sip } = number;
  // A number that was released may have been imported again with another trunk.
  const sharing = sip?.termination_uri
    ? await models.numbers
        .find(
          { team_id, 'sip.termination_uri': sip.termination_uri, status: { $ne: 'released' } },
          { phone_number: 1 },
        )
        .lean()
    : [];
  const dialed_number = { $in: [phone_number, ...sharing.map((other) => other.phone_number)] };
  const live = await models.sessions
    .find(
      { team_id, status: { $in: [...UNDER_WAY_STATUSES] }, direction: 'outbound', dialed_number },
      { _id: 1 },
    )
    .lean();
  return live.map(({ _id }) => _id);
}
