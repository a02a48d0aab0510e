/**
 * Limits of the trunk behind a number, shared by single calls and batches: how many at once, and how many a minute.
 * Calls that run are not cut off; of those placed in the same moment no more than the limit pass, on however many replicas.
 */
import { fault } from '#config/errors.ts';
import type { Context } from '../context.ts';
import type { NumberDocument } from '../store/models/number-model.ts';

const MINUTE_MS = 60_000;
/** Storing a session and a worker's yes take well under a second. */
const TURN_MS = 5_000;
const ASK_AGAIN_MS = 10;

type Parts = Pick<Context, 'models' | 'coordination' | 'clock' | 'logger'>;

/** Runs `place`, which stores the session of a call, if one more may leave by this number's trunk now. Throws `concurrent_calls_reached` or `rate_limited` otherwise. */
export async function placeOnTrunk<Placed>(context: Parts, number: NumberDocument, place: () => Promise<Placed>): Promise<Placed> {
  const limit = number.trunk_limits?.concurrent_calls ?? null;
  if (limit === null) {
    await requireModestPace(context, number);
    return place();
  }
  const giveBack = await takeTurn(context, trunkKey(number));
  try {
    if ((await callsOn(context, number, limit)) >= limit) throw fault('concurrent_calls_reached', { of: 'trunk', limit });
    await requireModestPace(context, number);
    return await place();
  } finally {
    await giveBack();
  }
}

async function requireModestPace({ coordination }: Parts, number: NumberDocument): Promise<void> {
  const limit = number.trunk_limits?.calls_per_minute ?? null;
  if (limit === null) return;
  const { allowed, resetMs } = await coordination.hit(`trunk:${trunkKey(number)}`, limit, MINUTE_MS);
  if (!allowed) throw fault('rate_limited', { seconds: Math.ceil(resetMs / 1000) });
}

/** Calls are counted and placed one after the other on a trunk. Who has waited for as long as a turn lasts goes on without: whoever had it is gone. */
async function takeTurn({ coordination, clock, logger }: Parts, trunk: string): Promise<() => Promise<void>> {
  const name = `trunk:${trunk}`;
  try {
    for (const untilMs = clock.now() + TURN_MS; clock.now() < untilMs; await clock.sleep(ASK_AGAIN_MS)) {
      const token = await coordination.acquire(name, TURN_MS);
      if (token !== null) return () => coordination.release(name, token).catch(() => undefined);
    }
  } catch (error) {
    // As with the pace: calls go on where the replicas cannot agree.
    logger.warn({ err: error }, 'no turn on the trunk to be had, called without');
  }
  return async () => undefined;
}

/** Imported numbers of a team that dial through the same address share a trunk; a managed number is one of its own. */
function trunkKey({ _id, team_id, sip }: NumberDocument): string {
  return sip?.termination_uri ? `${team_id}:${sip.termination_uri}` : _id;
}

/** Live calls on the trunk, counted up to `limit`. */
async function callsOn({ models }: Pick<Context, 'models'>, number: NumberDocument, limit: number): Promise<number> {
  if (limit === 0) return 0;
  const { team_id, phone_number, sip } = number;
  const sharing = sip?.termination_uri
    ? await models.numbers.find({ team_id, 'sip.termination_uri': sip.termination_uri }, { phone_number: 1 }).lean()
    : [];
  const live = await models.sessions
    .find(
      {
        team_id,
        status: { $in: ['creating', 'pending', 'active', 'unknown'] },
        direction: 'outbound',
        dialed_number: { $in: [phone_number, ...sharing.map((other) => other.phone_number)] },
      },
      { _id: 1 },
    )
    .limit(limit)
    .lean();
  return live.length;
}
