/**
 * Limits of the trunk behind a number, shared by single calls and batches: how many at once, and how many a minute.
 * As spend guards they hold dialling back: requests of the same moment may pass together, and calls that run are not cut off.
 */
import { fault } from '#config/errors.ts';
import type { Context } from '../context.ts';
import type { NumberDocument } from '../store/models/number-model.ts';

const MINUTE_MS = 60_000;

/** Throws `concurrent_calls_reached` or `rate_limited` when one more call may not leave by this number's trunk now. */
export async function requireFreeTrunk(context: Pick<Context, 'models' | 'coordination'>, number: NumberDocument): Promise<void> {
  const { concurrent_calls: concurrent = null, calls_per_minute: perMinute = null } = number.trunk_limits ?? {};
  if (concurrent !== null && (await callsOn(context, number, concurrent)) >= concurrent)
    throw fault('concurrent_calls_reached', { of: 'trunk', limit: concurrent });
  if (perMinute === null) return;
  const { allowed, resetMs } = await context.coordination.hit(`trunk:${trunkKey(number)}`, perMinute, MINUTE_MS);
  if (!allowed) throw fault('rate_limited', { seconds: Math.ceil(resetMs / 1000) });
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
