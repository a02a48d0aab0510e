/**
 * Gives up sessions whose creation failed after they were stored. While the database is away, the sweeper
 * continues with them: only this process knows that no worker has such a session, which otherwise looks like
 * one whose call is being set up.
 */
import { type Context, now } from '../../platform/context.ts';
import type { Models } from '../../platform/store/models.ts';
import { settleSession } from './charge.ts';
import { changeSession, loadSessionHead } from './session-store.ts';

/** Sessions that this process still has to give up, by its store. */
const remaining = new WeakMap<Models, Set<string>>();

/** Gives up a session that cannot be created and refunds it. Returns whether it did so now. */
export async function refuseSession(context: Context, sessionId: string): Promise<boolean> {
  const refused = await changeSession(context, sessionId, { type: 'creation.refused', at: now(context) });
  if (refused) await settleSession(context, refused);
  return refused !== null;
}

/** Like `refuseSession`, but never rejects. Returns false if the sweeper has to continue with it. */
export async function giveUpCreation(context: Context, sessionId: string): Promise<boolean> {
  if (await isGivenUp(context, sessionId)) return true;
  const mine = remaining.get(context.models) ?? new Set();
  remaining.set(context.models, mine.add(sessionId));
  return false;
}

/** Whether this process knows that no worker has the session, and has not stored this yet. */
export function isBeingGivenUp({ models }: Pick<Context, 'models'>, sessionId: string): boolean {
  return remaining.get(models)?.has(sessionId) ?? false;
}

/**
 * Continues with all sessions that could not be given up at once. Those that are not confirmed wait: the
 * sweeper voids them unless their confirmation, which may still be on its way, is stored before.
 */
export async function giveUpRemaining(context: Context): Promise<void> {
  const mine = remaining.get(context.models);
  if (!mine?.size) return;
  const ids = [...mine];
  const unfinished = await context.models.sessions
    .find({ _id: { $in: ids }, status: { $in: ['creating', 'pending'] } }, { status: 1 })
    .lean<{ readonly _id: string; readonly status: string }[]>();
  for (const { _id, status } of unfinished) if (status === 'pending') await refuseSession(context, _id);
  const waiting = new Set(unfinished.filter(({ status }) => status === 'creating').map(({ _id }) => _id));
  for (const id of ids) if (!waiting.has(id)) mine.delete(id);
}

/** False while its confirmation may still be on its way to the database, and while the database is away. */
async function isGivenUp(context: Context, sessionId: string): Promise<boolean> {
  try {
    if (await refuseSession(context, sessionId)) return true;
    const { status } = (await loadSessionHead(context, sessionId)) ?? {};
    return status !== 'creating' && status !== 'pending';
  } catch (error) {
    context.logger.debug({ err: error, sessionId }, 'failed to give up the creation of a session');
    return false;
  }
}
