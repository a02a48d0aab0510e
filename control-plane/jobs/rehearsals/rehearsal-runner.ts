/**
 * Runs rehearsals in the background, a group of calls of each in turn. A rehearsal belongs to one process at
 * a time (a lease in the store); sums and position are stored together after each group, so that after a
 * crash the next process goes on from there and counts no call twice.
 */
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import { leaseHolder, takeLease } from '../../platform/store/lease.ts';
import type { RehearsalDocument } from '../../platform/store/models/rehearsal-model.ts';
import { failAfterErrors, failRehearsal } from './fail-rehearsal.ts';
import { rehearseGroup } from './rehearse-group.ts';

/** Retry interval while no worker is free, and for rehearsals that a crash left. */
const TICK_MS = 2_000;
/** A worker may take half a minute for a group, and reading the logs some seconds. */
const LEASE_MS = 90_000;
/** Without progress for so long, no worker can do it. */
const GIVE_UP_MS = 10 * 60_000;

/** Starts the runner of a process. */
export function startRehearsalRunner(context: Context): BackgroundLoop {
  const runner = leaseHolder(context.settings);
  const isDone = async () => (await context.models.rehearsals.exists({ status: 'running' })) === null;
  const options = {
    name: 'rehearsals',
    everyMs: TICK_MS,
    chore: 'rehearsals',
    isDone,
    waitsFor: ['rehearsals'],
  } as const;
  return startBackgroundLoop(context, options, () => runRehearsals(context, runner));
}

/** A group of calls of every rehearsal, the one that has waited longest first. */
export async function runRehearsals(context: Context, runner: string): Promise<void> {
  const { rehearsals } = context.models;
  const open = await rehearsals
    .find({ status: 'running' }, { _id: 1 })
    .sort({ advanced_at: 1 })
    .lean<Pick<RehearsalDocument, '_id'>[]>();
  let hasMore = false;
  for (const { _id } of open) {
    const filter = { _id, status: 'running' };
    try {
      const lease = { holder: runner, ms: LEASE_MS };
      const rehearsal = await takeLease(context, { model: rehearsals, filter }, lease);
      if (rehearsal && (await advance(context, rehearsal, runner))) hasMore = true;
    } catch (error) {
      // The next pass retries, unless it would be in vain; other rehearsals do not wait for it.
      context.logger.error({ err: error, rehearsalId: _id }, 'failed to rehearse calls');
      await failAfterErrors(context, { ...filter, lease_by: runner }, error);
    }
  }
  if (hasMore) context.workSignals.notify('rehearsals');
}

/** Rehearses the next group; true if it came further and has not ended. */
async function advance(context: Context, rehearsal: RehearsalDocument, runner: string): Promise<boolean> {
  const { rehearsals } = context.models;
  const at = now(context);
  const own = { _id: rehearsal._id, status: 'running', lease_by: runner } as const;
  const change = await rehearseGroup(context, rehearsal);
  if (change === 'no_worker' || change === 'no_answer') {
    const isOver = at.getTime() - rehearsal.advanced_at.getTime() >= GIVE_UP_MS;
    const error = 'No worker has rehearsed a call for ten minutes';
    if (isOver) await failRehearsal(context, own, error);
    else if (change === 'no_answer') await rehearsals.updateOne(own, { $inc: { attempts: 1 } });
    return false;
  }
  const { isLast, ...fields } = change;
  const end = isLast ? endOf(rehearsal, at) : {};
  const { matchedCount } = await rehearsals.updateOne(own, {
    $set: { ...fields, ...end, attempts: 0, failures: 0, advanced_at: now(context) },
  });
  // Deleted, taken by another process, or a call of it was erased: nothing was stored.
  if (matchedCount === 0) return true;
  if (isLast) {
    const { calls_looked_at: calls, left_out: leftOut } = fields;
    context.logger.info({ rehearsalId: rehearsal._id, calls, leftOut }, 'rehearsal completed');
    if (rehearsal.judge) context.workSignals.notify('judged-turns');
    else context.metrics.rehearsalsEnded.inc({ outcome: 'completed' });
  }
  return !isLast;
}

/** The draft is needed no longer; a judge has its own. */
function endOf({ judge }: RehearsalDocument, at: Date): Partial<RehearsalDocument> {
  const end = { draft: '', lease_until: null };
  return judge ? { ...end, status: 'judging' } : { ...end, status: 'completed', finished_at: at };
}
