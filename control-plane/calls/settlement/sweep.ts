/**
 * The sweeper completes work interrupted by a crash and ends work that can no longer finish. Runs at start-up
 * and every few seconds in every replica. All steps are idempotent and need no lock.
 */

import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import { agentIdentity, callerIdentity } from '../../platform/rooms.ts';
import type { DeliveryDocument } from '../../platform/store/models/delivery-model.ts';
import { type SessionDocument, WITHOUT_LISTS } from '../../platform/store/models/session-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';
import { dueIn } from '../../platform/store/session-due.ts';
import { LIVE_STATUSES } from '../../platform/store/session-status.ts';
import { listedWorkers } from '../../platform/store/worker-sightings.ts';
import { promoteNext, relayOutbox } from '../outbox/relay.ts';
import { runFollowUps } from '../sessions/after-session-change.ts';
import { settleSession, voidHold } from '../sessions/charge.ts';
import { giveUpRemaining } from '../sessions/give-up-creation.ts';
import type { HeartbeatFile } from '../sessions/heartbeat-file.ts';
import { changeSession, loadSession } from '../sessions/session-store.ts';
import { giveUpUnknown, placeAgainOrGiveUp } from './worker-presence.ts';

/**
 * A worker that lost its link ends its calls by itself after 120 s; the control plane ends them only after
 * that.
 */
const UNKNOWN_MS = 150_000;
/** Work younger than this is left alone, because another process may still be doing it. */
const GRACE_MS = 30_000;
const TICK_MS = 2_000;
/** A join deadline is looked for at every tick. The rest has waited for half a minute and is not urgent. */
const WHOLE_PASS_MS = 10_000;
/** How long workers of this run have to send reports spooled by workers of an earlier run. */
const EARLIER_RUN_GRACE_MS = 5_000;
const BATCH = 500;

/**
 * Starts the sweeper, first on what an earlier process on this machine left behind, then at every tick. The
 * first pass (`idle`) must finish before sessions are created or workers connect.
 */
export function startSweeper(context: Context, heartbeat: HeartbeatFile): BackgroundLoop {
  const startedAtMs = context.clock.wallTime();
  // With several replicas, another one may still be working on what seems abandoned.
  const isAlone = context.settings.REDIS_URL === undefined;
  let isFirst = isAlone;
  let isEarlierRunOver = false;
  let sweptMs = Number.NEGATIVE_INFINITY;
  const isDone = async () => isEarlierRunOver && !(await isAnythingOpen(context));
  // Also while the sweeper has nothing to do: a call may begin and this process crash before the next pass.
  const beat = () => heartbeat.beat(now(context));
  const options = {
    name: 'sweep',
    everyMs: TICK_MS,
    isDone,
    waitsFor: ['sessions', 'deliveries'],
    always: beat,
  } as const;
  return startBackgroundLoop(context, options, async () => {
    if (isEarlierRunOver && context.clock.now() - sweptMs < WHOLE_PASS_MS) {
      await endOverdue(context);
      return;
    }
    if (isFirst) await markActiveUnknown(context, heartbeat.lastBeat);
    const graceMs = isFirst ? 0 : GRACE_MS;
    isFirst = false;
    sweptMs = context.clock.now();
    isEarlierRunOver = await sweep(context, { graceMs, startedAtMs, isEarlierRunOver });
  });
}

/** Whether a pass now or later could find anything. Sessions still to be given up are under way, too. */
async function isAnythingOpen({ models }: Context): Promise<boolean> {
  const { sessions, deliveries } = models;
  const session = await sessions.exists(dueIn('live', 'settlement', 'outbox'));
  return session !== null || (await deliveries.exists({ state: 'queued' })) !== null;
}

/** Parameters of a pass. */
interface SweepOptions {
  /** Minimum age of work that counts as abandoned. */
  readonly graceMs: number;
  /** When this process started to accept workers. */
  readonly startedAtMs: number;
  /**
   * An earlier pass found nothing left of earlier runs, and nothing can be added, so the live sessions need
   * not be scanned again.
   */
  readonly isEarlierRunOver?: boolean;
}

/** Runs one pass. Returns whether nothing is left of earlier runs on this machine. */
export async function sweep(context: Context, options: SweepOptions): Promise<boolean> {
  const wallTime = context.clock.wallTime();
  const before = new Date(wallTime - options.graceMs);
  await endOverdue(context);
  for (const session of await findLive(context, { status: 'creating', status_at: { $lte: before } }))
    await voidHold(context, session);
  for (const session of await find(context, {
    ...dueIn('settlement'),
    'billing.state': 'settle_due',
    'billing.at': { $lte: before },
  }))
    await settleSession(context, session);
  for (const { _id } of await find(context, { ...dueIn('outbox'), 'outbox.at': { $lte: before } })) {
    const session = await loadSession(context, _id);
    if (session) await relayOutbox(context, session);
  }
  await promoteStranded(context, before);
  if (wallTime - options.startedAtMs >= UNKNOWN_MS) {
    const unseen = await findLive(context, {
      status: 'unknown',
      status_at: { $lte: new Date(wallTime - UNKNOWN_MS) },
      // The replica that is connected to the worker marks the session active again.
      'worker.instance_id': { $nin: await listedWorkers(context) },
    });
    for (const session of unseen) await giveUpUnknown(context, session);
  }
  if (options.isEarlierRunOver) return true;
  return wallTime - options.startedAtMs >= EARLIER_RUN_GRACE_MS && (await endEarlierRuns(context)) === 0;
}

/** Ends sessions that could not be created, and those that have not been joined in time. */
async function endOverdue(context: Context): Promise<void> {
  await giveUpRemaining(context);
  const unjoined = { status: 'pending', expires_at: { $lte: now(context) } };
  await endUnjoined(context, await findLive(context, unjoined));
}

/**
 * At start-up no worker is connected, so live sessions become `unknown` until their worker reconnects;
 * skipped when other replicas may be connected to the workers. The sessions were last seen at this machine's
 * last heartbeat, which may be long ago.
 */
async function markActiveUnknown(context: Context, lastBeat: Date | null): Promise<void> {
  const at = new Date(Math.min(now(context).getTime(), lastBeat?.getTime() ?? Number.POSITIVE_INFINITY));
  for (;;) {
    const active = await findLive(context, { status: 'active' });
    if (active.length === 0) return;
    for (const { _id } of active) await changeSession(context, _id, { type: 'link.lost', at });
  }
}

/**
 * Ends sessions whose join deadline has passed: either no one joined, or a caller is waiting in a room that
 * no agent has joined.
 */
async function endUnjoined(context: Context, sessions: readonly SessionDocument[]): Promise<void> {
  const seen = await Promise.all(
    sessions.map(async (session) => ({ session, ...(await inRoom(context, session)) })),
  );
  for (const { session, hasCaller, hasAgent } of seen) {
    // The call is in progress, but the worker that should report it cannot be reached; it has until
    // UNKNOWN_MS to reconnect.
    if (hasCaller && hasAgent && context.clock.wallTime() < session.expires_at.getTime() + UNKNOWN_MS)
      continue;
    await endPending(context, session, hasCaller ? 'agent_join_timeout' : 'room_join_timeout');
  }
}

/**
 * Whether caller and agent are in a session's room; both false without a room or if LiveKit is unreachable.
 */
async function inRoom(
  { rooms, logger }: Context,
  { _id, room }: SessionDocument,
): Promise<{ hasCaller: boolean; hasAgent: boolean }> {
  if (rooms === null || room === null) return { hasCaller: false, hasAgent: false };
  const present = await rooms.participants(room).catch((error: unknown): readonly string[] => {
    logger.debug({ err: error, sessionId: _id }, 'failed to list the participants of a room');
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
    context.logger.debug({ err: error, sessionId: session._id }, 'failed to reach the worker of a session');
  }
  await runFollowUps(context, ended);
}

/**
 * Handles sessions of workers started by an earlier supervisor of this machine, which are certainly dead.
 * Skipped with an external database, which other machines may share. Returns the number of sessions found.
 */
async function endEarlierRuns(context: Context): Promise<number> {
  const { SUPERVISOR_RUN, MONGODB_URL } = context.settings;
  if (SUPERVISOR_RUN === undefined || MONGODB_URL !== undefined) return 0;
  const orphans = await findLive(context, {
    status: { $in: [...LIVE_STATUSES] },
    'worker.supervisor_run': { $nin: [null, SUPERVISOR_RUN] },
  });
  await Promise.all(orphans.map(({ _id, epoch }) => placeAgainOrGiveUp(context, _id, epoch)));
  const analyses = await find(context, {
    ...dueIn('analysing'),
    'analysis.state': 'running',
    'worker.supervisor_run': { $nin: [null, SUPERVISOR_RUN] },
  });
  for (const { _id } of analyses)
    await changeSession(context, _id, { type: 'analysis.lost', at: now(context), loss: 'silent' });
  return orphans.length + analyses.length;
}

/** Promotes deliveries whose relay was interrupted after the insert. */
async function promoteStranded(context: Context, before: Date): Promise<void> {
  const queued = await readStored<DeliveryDocument, Pick<DeliveryDocument, 'session_id' | 'url'>>(
    context.models.deliveries,
    { state: 'queued', next_at: { $lte: before } },
    { projection: { session_id: 1, url: 1 }, limit: BATCH },
  );
  for (const { session_id, url } of queued) await promoteNext(context, session_id, url);
  if (queued.length > 0) context.workSignals.notify('deliveries');
}

function findLive(context: Context, filter: Record<string, unknown>): Promise<SessionDocument[]> {
  return find(context, { ...dueIn('live'), ...filter });
}

function find(context: Context, filter: Record<string, unknown>): Promise<SessionDocument[]> {
  return readStored(context.models.sessions, filter, { projection: WITHOUT_LISTS, limit: BATCH });
}
