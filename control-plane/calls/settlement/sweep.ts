/**
 * The sweeper: what a crash left half done is carried on, what nobody will ever finish is ended.
 * Runs at start and every few seconds in every replica; every step can be repeated and needs no lock.
 */

import { type ChoreLoop, startChoreLoop } from '../../platform/background/chore-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import { agentIdentity, callerIdentity } from '../../platform/rooms.ts';
import type { DeliveryDocument } from '../../platform/store/models/delivery-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { LIVE_STATUSES } from '../../platform/store/session-status.ts';
import { promoteNext, relayOutbox } from '../outbox/relay.ts';
import { runFollowUps } from '../sessions/after-session-change.ts';
import { settleSession, voidHold } from '../sessions/charge.ts';
import type { Pulse } from '../sessions/pulse.ts';
import { changeSession, loadSession, WITHOUT_LISTS } from '../sessions/session-store.ts';
import { giveUp, replaceOrGiveUp } from './worker-presence.ts';

/**
 * A worker that lost its link ends its calls after 120 s alone; only then does the control plane end them
 * too.
 */
const UNKNOWN_MS = 150_000;
/** What another process may still be doing is left alone for this long. */
const GRACE_MS = 30_000;
const TICK_MS = 2_000;
/** Workers of this run get this long to send what workers of an earlier run had spooled. */
const EARLIER_RUN_GRACE_MS = 5_000;
const BATCH = 500;

/**
 * Starts sweeping: at once what an earlier process of this machine left, then at every tick.
 * The first pass (`idle`) must be over before a session can be created or a worker connects.
 */
export function startSweeper(context: Context, pulse: Pulse): ChoreLoop {
  const startedAtMs = context.clock.wallTime();
  // Another replica may be in the middle of what looks left behind.
  const isAlone = context.settings.REDIS_URL === undefined;
  let isFirst = isAlone;
  let isEarlierRunOver = false;
  return startChoreLoop(context, { name: 'sweep', everyMs: TICK_MS }, async () => {
    if (isFirst) await loseSight(context, pulse.lastBeat);
    const graceMs = isFirst ? 0 : GRACE_MS;
    isFirst = false;
    isEarlierRunOver = await sweep(context, { graceMs, startedAtMs, isEarlierRunOver });
    pulse.beat(now(context));
  });
}

/** What a pass goes by. */
interface SweepOptions {
  /** How long what somebody may still be doing is left alone. */
  readonly graceMs: number;
  /** When this process began to see its workers. */
  readonly startedAtMs: number;
  /**
   * An earlier pass has found nothing left of earlier runs, and nothing more comes of them: the live sessions
   * need not be read through again.
   */
  readonly isEarlierRunOver?: boolean;
}

/** One pass. Returns whether nothing is left of earlier runs of this machine. */
export async function sweep(context: Context, options: SweepOptions): Promise<boolean> {
  const wallTime = context.clock.wallTime();
  const before = new Date(wallTime - options.graceMs);
  for (const session of await find(context, { status: 'creating', status_at: { $lte: before } }))
    await voidHold(context, session);
  await endUnjoined(context, await find(context, { status: 'pending', expires_at: { $lte: now(context) } }));
  for (const { _id } of await find(context, {
    'billing.state': 'settle_due',
    'billing.at': { $lte: before },
  }))
    await settleSession(context, _id);
  for (const { _id } of await find(context, { 'outbox.at': { $lte: before } })) {
    const session = await loadSession(context, _id);
    if (session) await relayOutbox(context, session);
  }
  await promoteStranded(context, before);
  if (wallTime - options.startedAtMs >= UNKNOWN_MS) {
    const unseen = await find(context, {
      status: 'unknown',
      status_at: { $lte: new Date(wallTime - UNKNOWN_MS) },
    });
    for (const { _id, epoch } of unseen) await giveUp(context, _id, epoch);
  }
  if (options.isEarlierRunOver) return true;
  return wallTime - options.startedAtMs >= EARLIER_RUN_GRACE_MS && (await endEarlierRuns(context)) === 0;
}

/**
 * At a start no worker is connected yet: live sessions read `unknown` until theirs is. Only when no other
 * replica may be seeing them. They were last seen when this machine last had a control plane, which may have
 * been yesterday.
 */
async function loseSight(context: Context, lastBeat: Date | null): Promise<void> {
  const at = new Date(Math.min(now(context).getTime(), lastBeat?.getTime() ?? Number.POSITIVE_INFINITY));
  for (;;) {
    const active = await find(context, { status: 'active' });
    if (active.length === 0) return;
    for (const { _id } of active) await changeSession(context, _id, { type: 'link.lost', at });
  }
}

/**
 * Sessions whose join deadline has passed: nobody came, or a caller waits in a room which no agent has come
 * to.
 */
async function endUnjoined(context: Context, sessions: readonly SessionDocument[]): Promise<void> {
  const seen = await Promise.all(
    sessions.map(async (session) => ({ session, ...(await inRoom(context, session)) })),
  );
  for (const { session, hasCaller, hasAgent } of seen) {
    // They are talking: the worker that says so is out of reach, and has its time to be back.
    if (hasCaller && hasAgent && context.clock.wallTime() < session.expires_at.getTime() + UNKNOWN_MS)
      continue;
    await endPending(context, session, hasCaller ? 'agent_join_timeout' : 'room_join_timeout');
  }
}

/** Who is in a session's room; nobody where there is none, or LiveKit cannot be asked. */
async function inRoom(
  { rooms, logger }: Context,
  { _id, room }: SessionDocument,
): Promise<{ hasCaller: boolean; hasAgent: boolean }> {
  if (rooms === null || room === null) return { hasCaller: false, hasAgent: false };
  const present = await rooms.participants(room).catch((error: unknown): readonly string[] => {
    logger.debug({ err: error, sessionId: _id }, 'room not seen');
    return [];
  });
  return { hasCaller: present.includes(callerIdentity(_id)), hasAgent: present.includes(agentIdentity(_id)) };
}

async function endPending(
  context: Context,
  session: SessionDocument,
  reason: 'agent_join_timeout' | 'room_join_timeout',
): Promise<void> {
  const ended = await changeSession(context, session._id, { type: 'ended', at: now(context), reason });
  if (!ended) return;
  context.logger.info({ sessionId: session._id, reason }, 'join deadline passed');
  try {
    if (session.worker)
      context.dispatch.end(
        session.worker.instance_id,
        { sessionId: session._id, epoch: session.epoch },
        reason,
      );
  } catch (error) {
    context.logger.debug({ err: error, sessionId: session._id }, 'worker not reached');
  }
  await runFollowUps(context, ended);
}

/**
 * Every worker an earlier supervisor of this machine had started is certainly dead. With a database of its
 * own, this machine is the only one. Returns how many sessions were still with them.
 */
async function endEarlierRuns(context: Context): Promise<number> {
  const { SUPERVISOR_RUN, MONGODB_URL } = context.settings;
  if (SUPERVISOR_RUN === undefined || MONGODB_URL !== undefined) return 0;
  const orphans = await find(context, {
    status: { $in: [...LIVE_STATUSES] },
    'worker.supervisor_run': { $nin: [null, SUPERVISOR_RUN] },
  });
  await Promise.all(orphans.map(({ _id, epoch }) => replaceOrGiveUp(context, _id, epoch)));
  const analyses = await find(context, {
    'analysis.state': 'running',
    'worker.supervisor_run': { $nin: [null, SUPERVISOR_RUN] },
  });
  for (const { _id } of analyses)
    await changeSession(context, _id, { type: 'analysis.lost', at: now(context), loss: 'silent' });
  return orphans.length + analyses.length;
}

/** Deliveries whose relay was cut off between their insertion and their turn. */
async function promoteStranded(context: Context, before: Date): Promise<void> {
  const queued = await context.models.deliveries
    .find({ state: 'queued', next_at: { $lte: before } }, { session_id: 1, url: 1 })
    .limit(BATCH)
    .lean<Pick<DeliveryDocument, 'session_id' | 'url'>[]>();
  for (const { session_id, url } of queued) await promoteNext(context, session_id, url);
  if (queued.length > 0) context.workSignals.notify('deliveries');
}

function find(context: Context, filter: Record<string, unknown>): Promise<SessionDocument[]> {
  return context.models.sessions.find(filter, WITHOUT_LISTS).limit(BATCH).lean<SessionDocument[]>();
}
