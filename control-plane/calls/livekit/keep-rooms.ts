/**
 * Keeps rooms and sessions in step where no worker watches: a room whose session is over is closed, and a
 * session we lost sight of ends once its caller has left the room. Runs every half minute, and at once when
 * LiveKit's webhooks say that somebody left or came into a room that is over.
 */
import { type ChoreLoop, startChoreLoop } from '../../platform/background/chore-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import { callerIdentity, type Rooms, roomsOf, sessionOfRoom } from '../../platform/rooms.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { runFollowUps } from '../sessions/after-session-change.ts';
import { changeSession } from '../sessions/session-store.ts';

const EVERY_MS = 30_000;
/** A worker that lost its link is often back at once, and knows better. */
const GRACE_MS = 10_000;
const BATCH = 500;

/** Starts keeping; does nothing where there are no rooms. */
export function startRoomKeeper(context: Context): ChoreLoop {
  return startChoreLoop(context, { name: 'rooms', everyMs: EVERY_MS, chore: 'rooms' }, async () => {
    if (context.rooms === null) return;
    await closeForgottenRooms(context, context.rooms);
    await endDesertedSessions(context, context.rooms);
  });
}

/**
 * Closes a room if its session is over: a token outlives the call it was made for, and LiveKit makes a room
 * for whoever joins.
 */
export async function closeIfOver(context: Context, rooms: Rooms, room: string): Promise<void> {
  await closeRoomsOfEnded(context, rooms, [room]);
}

/**
 * Rooms of other applications on the same server are none of ours: only those of sessions that are over are
 * touched.
 */
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
    context.logger.info({ room }, 'closing the room of a session that is over');
    await rooms.remove(room);
  }
}

/** An unknown session was last seen when its link was lost; what came after is not charged. */
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
    context.logger.info({ sessionId: _id }, 'the caller left a session nobody watched');
    await runFollowUps(context, ended);
  }
}
