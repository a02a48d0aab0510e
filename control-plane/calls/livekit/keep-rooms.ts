/**
 * Reconciles rooms and sessions that no worker is watching: closes the room of an ended session, and ends a
 * session whose worker was lost once its caller has left the room. Runs every 30 s, and at once when a
 * LiveKit webhook reports that somebody has left a room or joined one whose session has ended.
 */
import { type ChoreLoop, startChoreLoop } from '../../platform/background/chore-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import { callerIdentity, type Rooms, roomsOf, sessionOfRoom } from '../../platform/rooms.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { runFollowUps } from '../sessions/after-session-change.ts';
import { changeSession } from '../sessions/session-store.ts';

const EVERY_MS = 30_000;
/** A worker that lost its link often reconnects at once and has better information. */
const GRACE_MS = 10_000;
const BATCH = 500;

/** Starts the reconciliation; does nothing in deployments without rooms. */
export function startRoomKeeper(context: Context): ChoreLoop {
  return startChoreLoop(context, { name: 'rooms', everyMs: EVERY_MS, chore: 'rooms' }, async () => {
    if (context.rooms === null) return;
    await closeForgottenRooms(context, context.rooms);
    await endDesertedSessions(context, context.rooms);
  });
}

/**
 * Closes a room if its session has ended: a token outlives its call, and LiveKit creates the room for anyone
 * who joins with it.
 */
export async function closeIfOver(context: Context, rooms: Rooms, room: string): Promise<void> {
  await closeRoomsOfEnded(context, rooms, [room]);
}

/** Other applications may have rooms on the same server, so only rooms of ended sessions are closed. */
async function closeForgottenRooms(context: Context, rooms: Rooms): Promise<void> {
  const names = await rooms.list();
  for (let start = 0; start < names.length; start += BATCH) {
    const some = names.slice(start, start + BATCH);
    await closeRoomsOfEnded(context, rooms, some);
  }
}

async function closeRoomsOfEnded(context: Context, rooms: Rooms, names: readonly string[]): Promise<void> {
  const sessions = await context.models.sessions
    .find(
      { _id: { $in: names.map(sessionOfRoom) }, status: { $in: ['completed', 'failed'] } },
      { _id: 1, room: 1, participants: 1 },
    )
    .lean<Pick<SessionDocument, '_id' | 'room' | 'participants'>[]>();
  const over = new Set(sessions.flatMap(roomsOf));
  for (const room of names.filter((name) => over.has(name))) {
    context.logger.info({ room }, 'closing the room of an ended session');
    await rooms.remove(room);
  }
}

/** A session in status `unknown` was last seen when its link was lost; time after that is not charged. */
async function endDesertedSessions(context: Context, rooms: Rooms): Promise<void> {
  const before = new Date(now(context).getTime() - GRACE_MS);
  const unseen = await context.models.sessions
    .find(
      { status: 'unknown', room: { $ne: null }, status_at: { $lte: before } },
      { _id: 1, room: 1, status_at: 1 },
    )
    .limit(BATCH)
    .lean<Pick<SessionDocument, '_id' | 'room' | 'status_at'>[]>();
  for (const { _id, room, status_at } of unseen) {
    if (room === null || (await rooms.participants(room)).includes(callerIdentity(_id))) continue;
    const ended = await changeSession(context, _id, { type: 'ended', at: status_at, reason: 'user_hangup' });
    if (!ended) continue;
    context.logger.info({ sessionId: _id }, 'the caller left a session without a worker');
    await runFollowUps(context, ended);
  }
}
