/**
 * Handles the calls of a worker that is out of reach, has reconnected or is dead: marks them unknown or
 * active, hands them to another worker, or ends them.
 */
import { type Context, now } from '../../platform/context.ts';
import type { SessionKey } from '../../platform/dispatch.ts';
import type { HandedOverCall, ReturnLink } from '../../platform/report-sink.ts';
import type { SessionDocument, SessionHead } from '../../platform/store/models/session-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';
import { dueIn } from '../../platform/store/session-due.ts';
import { LIVE_STATUSES } from '../../platform/store/session-status.ts';
import { isLostForGood, lossOf } from '../../platform/store/worker-losses.ts';
import { runFollowUps } from '../sessions/after-session-change.ts';
import { servedUntil } from '../sessions/served-until.ts';
import type { SessionEvent } from '../sessions/session-machine.ts';
import { changeSession, loadSession } from '../sessions/session-store.ts';
import type { CallJobs } from './call-jobs.ts';
import { failOver, handOver, isBack, type LostSession, placeAgain } from './failover.ts';

/** A session and its current epoch, as stored. */
type StoredKey = Pick<SessionDocument, '_id' | 'epoch'>;

/** How long a reconnected worker has to send its spool before sessions it no longer runs are given up. */
const SPOOL_GRACE_MS = 3_000;

/** The worker is out of reach since `at`; it may still be running. */
export async function workerLost(context: Context, instanceId: string, at = now(context)): Promise<void> {
  const nowMs = context.clock.wallTime();
  for (const { _id, status_at: activeAt } of await sessionsOf(context, instanceId, ['active'])) {
    // It was heard when the session became active, whatever the register still shows of an earlier time.
    const heardAt = new Date(Math.min(nowMs, Math.max(at.getTime(), activeAt.getTime())));
    if (await changeSession(context, _id, { type: 'link.lost', at: heardAt }))
      context.logger.warn({ sessionId: _id }, 'lost the worker of a session; its status is unknown');
  }
}

/** The workers are connected and run all their sessions. */
export async function workersHeard(context: Context, instanceIds: readonly string[]): Promise<void> {
  const doubted = await readStored<SessionDocument, Pick<SessionDocument, '_id'>>(
    context.models.sessions,
    { ...dueIn('live'), 'worker.instance_id': { $in: instanceIds }, status: 'unknown' },
    { projection: { _id: 1 } },
  );
  for (const { _id } of doubted)
    if (await changeSession(context, _id, { type: 'link.back', at: now(context) }))
      context.logger.info({ sessionId: _id }, 'the worker of a session is connected; its status is active');
}

const LASTING_LINK: ReturnLink = { isCurrent: () => true, onChecked: () => undefined };

/** The worker is connected and runs these sessions; any others stored for it are lost. */
export async function workerBack(
  context: Context,
  instanceId: string,
  sessions: readonly SessionKey[],
  link = LASTING_LINK,
): Promise<void> {
  const stored = await sessionsOf(context, instanceId, [...LIVE_STATUSES]);
  // The database may have answered late: sessions placed by another link are not in the list.
  if (!link.isCurrent()) return;
  // Read after the query: sessions placed in the meantime have been accepted and are in the list.
  const running = new Set(sessions.map((session) => `${session.sessionId}:${session.epoch}`));
  const lost = stored.filter((session) => !running.has(`${session._id}:${session.epoch}`));
  for (const session of stored) {
    if (lost.includes(session)) continue;
    // Another replica may be about to give the call to another worker.
    if (session.died_epochs?.includes(session.epoch)) await withdrawDeath(context, session);
    await changeSession(context, session._id, { type: 'link.back', at: now(context) });
  }
  // Reads the sessions once more: those that were moved just before their death was withdrawn are told.
  await endForgotten(context, instanceId, sessions);
  // Before the lost ones, which take seconds: a silent worker may speak again.
  link.onChecked();
  if (lost.length === 0) return;
  await context.clock.sleep(SPOOL_GRACE_MS);
  if (!link.isCurrent()) return;
  await Promise.all(lost.map(({ _id, epoch }) => placeAgainOrGiveUp(context, _id, epoch)));
}

/**
 * How a worker process ended: the time, null if it is unknown; and the session whose work had
 * blocked the event loop, if the process was killed for that.
 */
interface WorkerDeath {
  readonly instanceId: string;
  readonly diedAt: Date | null;
  readonly hungIn: string | null;
  /** Absent: its death is certain. */
  readonly isStillDead: (() => Promise<boolean>) | undefined;
}

/** The worker's process has ended. */
export async function workerDead(
  context: Context,
  jobs: CallJobs,
  { instanceId, diedAt, hungIn, isStillDead }: WorkerDeath,
): Promise<void> {
  const sessions = await sessionsOf(context, instanceId, [...LIVE_STATUSES]);
  const isPresumed = isStillDead !== undefined;
  const lost = await Promise.all(
    sessions.map(async ({ _id, epoch }) => {
      const session = { sessionId: _id, epoch, diedAt, isPresumed };
      return { session, deaths: await countDeath(context, session, hungIn) };
    }),
  );
  if (isStillDead && !(await isStillDead())) {
    for (const session of sessions) await withdrawDeath(context, session);
    return;
  }
  await jobs.workerGone(instanceId, hungIn);
  const settled = await Promise.allSettled(
    lost.map(({ session, deaths }) => failOverOrEnd(context, session, deaths)),
  );
  // Only when none is under way any more: the caller tries again.
  for (const session of settled) if (session.status === 'rejected') throw session.reason;
  const analyses = await context.models.sessions
    .find(
      { ...dueIn('analysing'), 'worker.instance_id': instanceId, 'analysis.state': 'running' },
      { _id: 1 },
    )
    .lean();
  for (const { _id } of analyses)
    await changeSession(context, _id, {
      type: 'analysis.lost',
      at: now(context),
      loss: lossOf(_id, hungIn),
    });
  if (analyses.length > 0) context.workSignals.notify('analysis');
}

/** The draining worker offers a call to others; false if it keeps the call. */
export async function workerHandsOver(
  context: Context,
  instanceId: string,
  call: HandedOverCall,
): Promise<boolean> {
  const outcome = await handOver(context, instanceId, call);
  context.metrics.takeovers.inc({ kind: 'hand_over', outcome });
  if (outcome === 'untold') {
    const lost = { sessionId: call.sessionId, epoch: call.epoch + 1, diedAt: now(context) };
    if (!(await failOver(context, lost))) await giveUp(context, lost);
  }
  return outcome !== 'kept';
}

/** Hands the call to another worker, unless the call itself may be the cause of the deaths. */
async function failOverOrEnd(context: Context, lost: LostSession, deaths: DeathCounts): Promise<void> {
  const ended = { ...lost, diedAt: lost.diedAt ?? now(context) };
  if (isLostForGood(deaths)) await giveUpAfterDeaths(context, lost, deaths);
  else if (!(await failOver(context, lost)) && !(await placeAgain(context, ended)))
    await giveUp(context, ended);
}

/** The worker of this session only seemed dead. */
async function withdrawDeath({ models }: Context, { _id, epoch }: StoredKey): Promise<void> {
  await models.sessions.updateOne({ _id, epoch }, { $pull: { died_epochs: epoch } });
}

interface DeathCounts {
  readonly suspected: number;
  readonly beside: number;
}

/** Counts worker deaths during a session, including this one; idempotent. */
async function countDeath(
  { models }: Context,
  { sessionId, epoch }: LostSession,
  hungIn: string | null,
): Promise<DeathCounts> {
  const list = lossOf(sessionId, hungIn) === 'beside' ? 'died_beside_epochs' : 'died_epochs';
  const projection = { died_epochs: 1, died_beside_epochs: 1 };
  const session = await models.sessions
    .findOneAndUpdate(
      { _id: sessionId, epoch },
      { $addToSet: { [list]: epoch } },
      { returnDocument: 'after', projection },
    )
    .lean<Pick<SessionDocument, 'died_epochs' | 'died_beside_epochs'>>();
  return { suspected: session?.died_epochs?.length ?? 0, beside: session?.died_beside_epochs?.length ?? 0 };
}

async function giveUpAfterDeaths(
  context: Context,
  lost: LostSession,
  { suspected, beside }: DeathCounts,
): Promise<void> {
  const { sessionId, diedAt } = lost;
  const session = await loadSession(context, sessionId);
  if (!session) return;
  const at = servedUntil(session, diedAt ?? now(context));
  const applies = (current: SessionDocument) => !isBack(current, lost);
  const ended = await changeSession(context, sessionId, { type: 'given_up', at }, applies);
  if (!ended) return;
  context.metrics.sessionsGivenUp.inc({});
  const { team_id: teamId, agent_id: agentId, end_reason: endReason } = ended;
  context.logger.error(
    { sessionId, teamId, agentId, endReason },
    `${suspected + beside} workers died while running this session, ${beside} of them because of another ` +
      'session; it is not placed again',
  );
  await runFollowUps(context, ended);
}

/** Ends sessions on the worker that were settled, or moved to another worker, while it was out of reach. */
async function endForgotten(
  context: Context,
  instanceId: string,
  sessions: readonly SessionKey[],
): Promise<void> {
  for (const key of sessions) {
    const session = await loadSession(context, key.sessionId);
    if (session && session.epoch > key.epoch) context.dispatch.abandon(instanceId, key);
    else if (
      session &&
      (session.status === 'completed' || session.status === 'failed') &&
      session.epoch === key.epoch &&
      session.analysis.state !== 'running'
    )
      context.dispatch.end(instanceId, key, session.end_reason ?? 'heartbeat_timeout');
  }
}

/** Places a session again if its worker is gone and nobody has joined it yet; otherwise ends it. */
export async function placeAgainOrGiveUp(
  context: Context,
  sessionId: string,
  epoch: number,
  lostAt = now(context),
): Promise<void> {
  if (!(await placeAgain(context, { sessionId, epoch, diedAt: lostAt })))
    await giveUp(context, { sessionId, epoch, diedAt: lostAt });
}

/**
 * Ends a session whose worker is gone, unless it has moved on: with `heartbeat_timeout`, or as `failed` if it
 * was never joined.
 */
export async function giveUp(context: Context, lost: LostSession): Promise<void> {
  const { sessionId, epoch, diedAt } = lost;
  const lostAt = diedAt ?? now(context);
  const isLost = (session: SessionDocument) => session.epoch === epoch && !isBack(session, lost);
  const session = await loadSession(context, sessionId);
  if (!session || !isLost(session)) return;
  const at = servedUntil(session, lostAt);
  await endWithoutWorker(context, sessionId, { type: 'ended', at, reason: 'heartbeat_timeout' }, isLost);
}

/** Ends a session that is still `unknown` since it was read, as of the time it was last served. */
export async function giveUpUnknown(context: Context, session: SessionHead): Promise<void> {
  const { _id, status_at: since } = session;
  await endWithoutWorker(context, _id, { type: 'unknown.expired', since, at: servedUntil(session, since) });
}

async function endWithoutWorker(
  context: Context,
  sessionId: string,
  event: SessionEvent,
  applies?: (session: SessionDocument) => boolean,
): Promise<void> {
  const ended = await changeSession(context, sessionId, event, applies);
  if (!ended) return;
  context.logger.warn({ sessionId, endReason: ended.end_reason }, 'session ended without its worker');
  await runFollowUps(context, ended);
}

function sessionsOf(
  context: Context,
  instanceId: string,
  statuses: SessionDocument['status'][],
): Promise<(StoredKey & Pick<SessionDocument, 'died_epochs' | 'status_at'>)[]> {
  const filter = { ...dueIn('live'), 'worker.instance_id': instanceId, status: { $in: statuses } };
  const fields = { _id: 1, epoch: 1, died_epochs: 1, status_at: 1 };
  return context.models.sessions.find(filter, fields).lean();
}
