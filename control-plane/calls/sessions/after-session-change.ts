/**
 * What follows a stored change of a session: its money, its events, its analysis. All of it can be repeated;
 * what fails here is picked up by the sweeper.
 */
import type { Context } from '../../platform/context.ts';
import { roomsOf } from '../../platform/rooms.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { isLive } from '../../platform/store/session-status.ts';
import { relayOutbox } from '../outbox/relay.ts';
import { settleSession } from './charge.ts';

/** Carries on from a session as it was just stored. */
export async function runFollowUps(context: Context, session: SessionDocument): Promise<void> {
  if (session.analysis.state === 'queued') context.workSignals.notify('analysis');
  if (session.direction === 'outbound' && !isLive(session.status)) context.workSignals.notify('batch-calls');
  const steps = await Promise.allSettled([
    settleSession(context, session._id),
    relayOutbox(context, session),
    leaveRooms(context, session),
  ]);
  for (const step of steps) {
    if (step.status === 'rejected')
      context.logger.error({ err: step.reason, sessionId: session._id }, 'session left to the sweeper');
  }
}

/** The rooms of a session go with it; what its analysis brings later finds none any more. */
async function leaveRooms({ rooms }: Context, session: SessionDocument): Promise<void> {
  const hasJustEnded =
    !isLive(session.status) && (session.analysis.state === 'none' || session.analysis.state === 'queued');
  if (rooms && hasJustEnded) await Promise.all(roomsOf(session).map((room) => rooms.remove(room)));
}
