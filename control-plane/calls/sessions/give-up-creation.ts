/**
 * Gives up sessions whose creation failed after they were stored. While the database is away, this continues
 * in the background: only this process knows that no worker has such a session, which otherwise looks like
 * one whose call is being set up.
 */
import { type Context, now } from '../../platform/context.ts';
import type { Models } from '../../platform/store/models.ts';
import { settleSession } from './charge.ts';
import { changeSession, loadSessionHead } from './session-store.ts';

/** Longer than the sweeper waits before it voids an unconfirmed session. */
const ATTEMPTS = 60;
const EVERY_MS = 1_000;

/** Sessions that this process still has to give up, by its store. */
const remaining = new WeakMap<Models, Set<string>>();

/** Gives up a session that cannot be created and refunds it. */
export async function refuseSession(context: Context, sessionId: string): Promise<void> {
  const refused = await changeSession(context, sessionId, { type: 'creation.refused', at: now(context) });
  if (refused) await settleSession(context, refused);
}

/** Like `refuseSession`, but never rejects: it continues later if the database is away. */
export async function giveUpCreation(context: Context, sessionId: string): Promise<void> {
  if (await isGivenUp(context, sessionId)) return;
  const mine = remaining.get(context.models) ?? new Set();
  remaining.set(context.models, mine.add(sessionId));
  void giveUpLater(context, sessionId).finally(() => mine.delete(sessionId));
}

/** Whether this process knows that no worker has the session, and has not stored this yet. */
export function isBeingGivenUp({ models }: Pick<Context, 'models'>, sessionId: string): boolean {
  return remaining.get(models)?.has(sessionId) ?? false;
}

async function giveUpLater(context: Context, sessionId: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await context.clock.sleep(EVERY_MS);
    if (await isGivenUp(context, sessionId)) return;
  }
  context.logger.warn({ sessionId }, 'a session that no worker has waits for its join deadline');
}

/** False while its confirmation may still be on its way to the database, and while the database is away. */
async function isGivenUp(context: Context, sessionId: string): Promise<boolean> {
  try {
    await refuseSession(context, sessionId);
    const { status } = (await loadSessionHead(context, sessionId)) ?? {};
    return status !== 'creating' && status !== 'pending';
  } catch (error) {
    context.logger.debug({ err: error, sessionId }, 'failed to give up the creation of a session');
    return false;
  }
}
