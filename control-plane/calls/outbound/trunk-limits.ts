/**
 * Limits of the trunk behind a number, shared by single calls and batches: concurrent calls and calls per
 * minute. Calls in progress are not cut off. Concurrent attempts cannot exceed the limit, even across
 * replicas. A number without a limit on a shared trunk is never refused, but its calls count towards the
 * limits of the others.
 */
import { fault } from '#config/errors.ts';
import { countedIn, holdingPlaces } from '../../accounts/limits/session-places.ts';
import type { Context } from '../../platform/context.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import { UNDER_WAY_STATUSES } from '../../platform/store/session-status.ts';

const MINUTE_MS = 60_000;

type Parts = Pick<Context, 'models' | 'coordination' | 'clock'>;

/** A call about to be placed through a number's trunk. */
export interface TrunkCall {
  readonly number: NumberDocument;
  readonly sessionId: string;
}

/**
 * Runs `place`, which stores the session of a call, if this number's trunk has room for another call. Throws
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

/** Id of the list that counts the calls on a number's trunk. */
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
 * A team's imported numbers with the same termination address share a trunk; a managed number has its own.
 */
function trunkKey({ _id, team_id, sip }: Pick<NumberDocument, '_id' | 'team_id' | 'sip'>): string {
  return sip?.termination_uri ? `${team_id}:${sip.termination_uri}` : _id;
}

/** Ids of the sessions with live calls on the trunk. */
async function callsOn({ models }: Pick<Context, 'models'>, number: NumberDocument): Promise<string[]> {
  const { team_id, phone_number, sip } = number;
  // A released number may have been imported again with another trunk.
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
