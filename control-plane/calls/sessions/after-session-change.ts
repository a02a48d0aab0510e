/**
 * Follow-ups of a stored session change: billing, events, analysis. All are idempotent; the sweeper retries
 * failures.
 */
import type { Context } from '../../platform/context.ts';
import { roomsOf } from '../../platform/rooms.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { isLive } from '../../platform/store/session-status.ts';
import { relayOutbox } from '../outbox/relay.ts';
import { settleSession } from './charge.ts';

/** Runs the follow-ups of a session that this process has just stored. */
export async function runFollowUps(context: Context, session: SessionDocument): Promise<void> {
  // The webhook first: somebody waits for it.
  const running = Promise.allSettled([
    relayOutbox(context, session, { isJustStored: true }),
    settleSession(context, session),
    removeRooms(context, session),
  ]);
  if (session.analysis.state === 'queued') context.workSignals.notify('analysis');
  if (session.direction === 'outbound' && !isLive(session.status)) context.workSignals.notify('batch-calls');
  const steps = await running;
  for (const step of steps) {
    if (step.status === 'rejected')
      context.logger.error(
        { err: step.reason, sessionId: session._id },
        'a follow-up of a session change failed; the sweeper retries it',
      );
  }
}

/** Removes a session's rooms when it ends. Later changes made by the analysis find no rooms and skip this. */
async function removeRooms({ rooms }: Context, session: SessionDocument): Promise<void> {
  const hasJustEnded =
    !isLive(session.status) && (session.analysis.state === 'none' || session.analysis.state === 'queued');
  if (rooms && hasJustEnded) await Promise.all(roomsOf(session).map((room) => rooms.remove(room)));
}
