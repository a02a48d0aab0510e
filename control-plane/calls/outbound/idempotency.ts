/** One call per Idempotency-Key, and what a dead attempt to place one has left behind. */
import type { Context } from '../../platform/context.ts';
import { type KeyedRequest, type Left, oncePerKey } from '../../platform/http/once-per-key.ts';
import { voidHold } from '../sessions/charge.ts';
import { isBeingGivenUp, refuseSession } from '../sessions/give-up-creation.ts';
import { loadSession } from '../sessions/session-store.ts';

/**
 * Places a call unless this key already has one, and returns its session id. A refused attempt releases the
 * key. Throws `idempotency_key_reuse`, `idempotency_key_conflict`, and whatever `place` throws.
 */
export function placeOncePerKey(
  context: Context,
  request: KeyedRequest,
  place: (sessionId: string) => Promise<void>,
): Promise<string> {
  return oncePerKey(context, request, {
    make: async (sessionId) => {
      await place(sessionId);
      return sessionId;
    },
    find: async (sessionId) => sessionId,
    leftBy: (sessionId) => resolveDeadAttempt(context, sessionId),
  });
}

/**
 * Determines what a dead attempt left behind: a placed call, nothing, or an unfinished session, which is
 * given up and refunded here.
 */
export async function resolveDeadAttempt(context: Context, sessionId: string): Promise<Left> {
  const session = await loadSession(context, sessionId);
  if (!session) return 'nothing';
  if (session.status === 'creating') await voidHold(context, session);
  else if (session.status === 'pending' && (session.worker === null || isBeingGivenUp(context, sessionId)))
    await refuseSession(context, sessionId);
  return (await loadSession(context, sessionId))?.is_listed ? 'made' : 'given_up';
}
