/**
 * Reconciles LiveKit rooms with stored sessions: closes the rooms of ended sessions, and ends a session whose
 * worker was lost once its caller has left the room and not come back. Runs every 30 s, and at once when a
 * LiveKit webhook reports that a participant has left. When a participant joins, only that room is checked
 * (`closeRoomIfSessionEnded`).
 */
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import { callerIdentity, type Rooms, roomsOf, sessionOfRoom } from '../../platform/rooms.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { dueIn } from '../../platform/store/session-due.ts';
import { runFollowUps } from '../sessions/after-session-change.ts';
import { type ServedFacts, servedUntil } from '../sessions/served-until.ts';
import { changeSession } from '../sessions/session-store.ts';

const EVERY_MS = 30_000;
/** A worker that lost its link often reconnects at once and has better information. */
const GRACE_MS = 10_000;
/** A client that cannot resume its connection leaves the room and joins again. */
const RETURN_MS = 15_000;
const BATCH = 500;

/** Starts the background reconciliation; does nothing in deployments without LiveKit. */
export function startRoomReconciliation(context: Context): BackgroundLoop {
  const absences = new Map<string, number>();
  void warnOfProblem(context);
  return startBackgroundLoop(context, { name: 'rooms', everyMs: EVERY_MS, chore: 'rooms' }, async () => {
    if (context.rooms === null) return;
    await closeRoomsOfEndedSessions(context, context.rooms);
    await endAbandonedSessions(context, context.rooms, absences);
  });
}

/** Names the wrong setting once at the start. Phone calls are not affected. */
async function warnOfProblem({ rooms, logger }: Pick<Context, 'rooms' | 'logger'>): Promise<void> {
  const problem = await rooms?.problem();
  if (problem) logger.warn(`${problem.setting}: ${problem.text}; web sessions are refused meanwhile`);
}

/**
 * Closes a room if its session has ended. A token outlives its call, and LiveKit creates the room again for a
 * participant who joins with it.
 */
export async function closeRoomIfSessionEnded(context: Context, rooms: Rooms, room: string): Promise<void> {
  await closeEndedRooms(context, rooms, [room]);
}

/** Other applications may have rooms on the same server, so only rooms of ended sessions are closed. */
async function closeRoomsOfEndedSessions(context: Context, rooms: Rooms): Promise<void> {
  const names = await rooms.list();
  for (let start = 0; start < names.length; start += BATCH) {
    await closeEndedRooms(context, rooms, names.slice(start, start + BATCH));
  }
}

async function closeEndedRooms(context: Context, rooms: Rooms, names: readonly string[]): Promise<void> {
  const sessions = await context.models.sessions
    .find(
      { _id: { $in: names.map(sessionOfRoom) }, status: { $in: ['completed', 'failed'] } },
      { _id: 1, room: 1, participants: 1 },
    )
    .lean<Pick<SessionDocument, '_id' | 'room' | 'participants'>[]>();
  const ended = new Set(sessions.flatMap(roomsOf));
  for (const room of names.filter((name) => ended.has(name))) {
    context.logger.info({ room }, 'closing the room of an ended session');
    await rooms.remove(room);
  }
}

/**
 * Time after a session was last served is not charged. `absences` keeps since when the caller of each such
 * session has been out of the room, ms.
 */
async function endAbandonedSessions(
  context: Context,
  rooms: Rooms,
  absences: Map<string, number>,
): Promise<void> {
  const lostBefore = new Date(now(context).getTime() - GRACE_MS);
  const lost = await context.models.sessions
    .find(
      { ...dueIn('live'), status: 'unknown', room: { $ne: null }, status_at: { $lte: lostBefore } },
      { _id: 1, room: 1, status: 1, status_at: 1, last_seq: 1, takeovers: 1 },
    )
    .limit(BATCH)
    .lean<(ServedFacts & Pick<SessionDocument, '_id' | 'room'>)[]>();
  const nowMs = context.clock.now();
  const before = new Map(absences);
  absences.clear();
  for (const session of lost) {
    const { _id, room } = session;
    if (room === null || (await rooms.participants(room)).includes(callerIdentity(_id))) continue;
    const sinceMs = before.get(_id) ?? nowMs;
    absences.set(_id, sinceMs);
    if (nowMs - sinceMs < RETURN_MS) continue;
    const at = servedUntil(session, session.status_at);
    const ended = await changeSession(context, _id, { type: 'ended', at, reason: 'user_hangup' });
    if (!ended) continue;
    context.logger.info({ sessionId: _id }, 'the caller left a session without a worker');
    await runFollowUps(context, ended);
  }
}
