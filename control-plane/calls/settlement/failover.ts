/**
 * Failover: hands the call of a dead or draining worker to another one. The session gets a new epoch, so that
 * late reports from the earlier worker are ignored. The successor receives the frozen plan and the
 * conversation so far, and for a phone call also the dialog; a browser reconnects by itself. A web session
 * not yet joined is placed again as created, and its caller does not notice.
 */

import { Fault } from '#config/errors.ts';
import type { FailoverState, FormerWorker } from '#protocol/worker-link.ts';
import { type Context, now } from '../../platform/context.ts';
import type { JobOffer, Placement, SessionKey } from '../../platform/dispatch.ts';
import type { HandedOverCall } from '../../platform/report-sink.ts';
import type { Failover, SessionDocument } from '../../platform/store/models/session-model.ts';
import { linkOf } from '../sessions/call-chain.ts';
import { workerOf } from '../sessions/place-session.ts';
import { servedUntil } from '../sessions/served-until.ts';
import { step } from '../sessions/session-machine.ts';
import { loadSession, sealerOf, storeChange } from '../sessions/session-store.ts';
import { readTimeline, sealItems } from '../sessions/timeline.ts';
import { interruptedReplyItem } from './interrupted-reply.ts';
import { type LostCall, runningCall, unjoinedCall } from './lost-call.ts';

/** A longer search for a worker may have seen the caller speak to the old one. */
const UNNOTICED_MS = 1_000;
/**
 * A successor may still be starting, which takes long on a busy machine; a caller waits no longer than this
 * for audio (20 s in all). If no worker is starting, the search ends at once.
 */
const SEARCH_MS = 12_000;
const SEARCH_AGAIN_MS = 100;

/** A worker, and the epoch under which it was to get the call. */
interface Successor {
  readonly instanceId: string;
  readonly epoch: number;
}

/** A move is stored, or may be, but the worker that was to get the call was not told. */
class MoveUntold extends Error {
  readonly successor: Successor;

  constructor(successor: Successor, cause: unknown) {
    super('a worker was not told that a call has moved to it', { cause });
    this.successor = successor;
  }
}

/** It is stored: no worker has the call. */
class SuccessorLost extends MoveUntold {}

/** The database did not confirm it. */
class MoveUncertain extends MoveUntold {}

/** A session whose worker died. `diedAt` is null if the time is unknown. */
export interface LostSession {
  readonly sessionId: string;
  readonly epoch: number;
  readonly diedAt: Date | null;
  /** The worker may be back, and keeps the session if it has withdrawn this death from it. */
  readonly isPresumed?: boolean;
}

/** Whether the session's worker was only presumed dead, and has come back. */
export function isBack(session: SessionDocument, { epoch, isPresumed = false }: LostSession): boolean {
  return isPresumed && !session.died_epochs?.includes(epoch);
}

/** Hands a running call to another worker; false when that is impossible and the call must be settled. */
export async function failOver(context: Context, lost: LostSession): Promise<boolean> {
  let isUnmoved = false;
  const hasMoved = await findSuccessor(context, lost, async (parts, session, diedAt) => {
    const call = await runningCall(parts, session, diedAt);
    // Another replica may move it.
    isUnmoved = call !== null && session.epoch === lost.epoch;
    return call;
  });
  if (hasMoved || isUnmoved)
    context.metrics.takeovers.inc({ kind: 'failover', outcome: hasMoved ? 'moved' : 'lost' });
  return hasMoved;
}

/**
 * Places a web session that may still be joined on another worker; false when that is impossible and it must
 * be ended.
 */
export function placeAgain(context: Context, lost: LostSession): Promise<boolean> {
  return findSuccessor(context, lost, unjoinedCall);
}

/**
 * Moves a call from a draining worker to another one. `kept`: the draining worker still has it, as no other
 * one takes it now, or the session has changed. `untold`: the call was assigned to a worker that went out of
 * reach, so no worker has it.
 */
export async function handOver(
  context: Context,
  instanceId: string,
  { sessionId, epoch, variables, ...how }: HandedOverCall,
): Promise<'moved' | 'kept' | 'untold'> {
  const session = await loadSession(context, sessionId);
  const isTheirs = session?.epoch === epoch && session.worker?.instance_id === instanceId;
  const call = isTheirs && (await runningCall(context, session, now(context)));
  if (!call) return 'kept';
  const plan = { ...call.plan, variables };
  try {
    // It has the call until now, even if the session is in doubt.
    const moved = { ...call, ...how, plan, served: call.lostAt, epoch: epoch + 1, isHandOver: true };
    if (!(await assignToSuccessor(context, session, moved))) return 'kept';
  } catch (error) {
    if (error instanceof SuccessorLost) return 'untold';
    if (error instanceof Fault) return 'kept';
    if (!(error instanceof MoveUncertain)) throw error;
    context.logger.warn({ err: error, sessionId }, 'not certain whether a call was handed over');
    if (!(await isAt(context, sessionId, error.successor))) return 'kept';
    // The move is stored, but its answer was lost: neither worker has been told.
    await silenceFormer(context, session, how);
    return 'untold';
  }
  context.logger.info({ sessionId }, 'a draining worker handed a call over');
  return 'moved';
}

/** Whether this worker has the session under this epoch. Rejects if the database stays away. */
async function isAt(context: Context, sessionId: string, { instanceId, epoch }: Successor): Promise<boolean> {
  const deadlineMs = context.clock.now() + SEARCH_MS;
  for (;;) {
    try {
      const session = await loadSession(context, sessionId);
      return session?.epoch === epoch && session.worker?.instance_id === instanceId;
    } catch (error) {
      if (context.clock.now() >= deadlineMs) throw error;
      await context.clock.sleep(SEARCH_AGAIN_MS);
    }
  }
}

/**
 * An error of the database may hide a change that was stored: only another attempt settles it. Several
 * control planes may learn of one death and search at once: a call that another one has moved is left alone.
 */
async function findSuccessor(
  context: Context,
  lost: LostSession,
  callOf: (context: Context, session: SessionDocument, diedAt: Date | null) => Promise<LostCall | null>,
): Promise<boolean> {
  const { sessionId, epoch, diedAt } = lost;
  const deadlineMs = context.clock.now() + SEARCH_MS;
  const failures: unknown[] = [];
  let served: Date | null = null;
  for (let next = epoch + 1; context.clock.now() < deadlineMs; next++) {
    try {
      const session = await loadSession(context, sessionId);
      const call = mayMove(session, lost, failures) && (await callOf(context, session, diedAt));
      if (!call) return false;
      // A move ends the doubt, even one that its worker was not told of.
      if (served === null || session.epoch <= epoch) served = servedUntil(session, call.lostAt);
      if (!(await assignToSuccessor(context, session, { ...call, served, epoch: next }))) continue;
      context.logger.warn({ sessionId }, 'moved a call to another worker');
      return true;
    } catch (error) {
      if (isFinal(context, error)) return false;
      failures.push(error);
      await context.clock.sleep(SEARCH_AGAIN_MS);
    }
  }
  return endSearch(failures.at(-1));
}

/** False if no worker took the call; otherwise the move itself failed, and its error is thrown. */
function endSearch(failure: unknown): false {
  if (failure === undefined || failure instanceof Fault) return false;
  throw failure;
}

/** True if no other search has moved the session, and its worker has not come back. */
function mayMove(
  session: SessionDocument | null,
  lost: LostSession,
  failures: readonly unknown[],
): session is SessionDocument {
  if (!session || isBack(session, lost)) return false;
  return session.epoch <= lost.epoch || failures.some(isMoveOf(session));
}

/** Whether a failure is that of the move that the session shows. */
function isMoveOf({ epoch, worker }: SessionDocument): (failure: unknown) => boolean {
  return (failure) =>
    failure instanceof MoveUntold &&
    failure.successor.epoch === epoch &&
    failure.successor.instanceId === worker?.instance_id;
}

/** No worker will take the call. */
function isFinal({ dispatch }: Context, error: unknown): boolean {
  return error instanceof Fault && (error.code === 'draining' || !dispatch.expectsWorker());
}

/**
 * Places the call and hands it over; false when the session changed in the meantime. Throws a `Fault` when no
 * worker takes it.
 */
async function assignToSuccessor(
  context: Context,
  session: SessionDocument,
  call: LostCall & { readonly epoch: number; readonly served: Date },
): Promise<boolean> {
  const { plan, dialog, person, epoch, lostAt, served, isBetweenTurns, isHandOver } = call;
  const startMs = context.clock.now();
  const key = { sessionId: session._id, epoch };
  const placement = await context.dispatch.place(offerOf(key, call));
  const successor = { instanceId: placement.instanceId, epoch };
  const brokenOff = interruptedReplyItem(
    await readTimeline(context, session),
    context.dispatch.heardSoFar(session._id),
  );
  const at = now(context);
  const change = step(session, {
    type: 'failed_over',
    at,
    successor: { worker: workerOf(placement), epoch },
  });
  const sealer = sealerOf(context, session);
  const items = brokenOff ? [brokenOff] : [];
  const timeline = brokenOff && sealer ? [await sealItems(context, sealer, { ...key, seq: 0 }, items)] : [];
  const link = linkOf(context, session, [{ epoch, seq: 0, report: { type: 'items', items } }]);
  const takeovers: Failover[] =
    session.started_at === null ? [] : [{ lost_at: lostAt, taken_over_at: at, served_until: served }];
  const stored =
    change &&
    (await storeChange(context, session, change, {
      ...link,
      push: { timeline, takeovers, ...link.push },
    }).catch((error: unknown) => {
      throw new MoveUncertain(successor, error);
    }));
  if (!stored) {
    const newest = await loadSession(context, session._id);
    // Another attempt may have given the call to the same worker under the same epoch.
    if (newest?.epoch !== epoch || newest.worker?.instance_id !== placement.instanceId)
      context.dispatch.withdraw(placement, key);
    return false;
  }
  measureGaps(context, session._id, takeovers, isHandOver);
  const former = formerOf(session, call, placement);
  await silenceFormer(context, session, { ...call, takesStream: former !== null });
  const isQuick = context.clock.now() - startMs <= UNNOTICED_MS;
  try {
    if (stored.started_at === null) {
      context.dispatch.assign(placement, key, plan);
      return true;
    }
    const failoverState: FailoverState = {
      items: await readTimeline(context, stored),
      was_cut_off: brokenOff !== null,
      elapsed_ms: Math.max(0, context.clock.wallTime() - stored.started_at.getTime()),
      // The caller may have left at any time since.
      lost_at: served.toISOString(),
      dialog,
      person,
      ...(isBetweenTurns && isQuick && brokenOff === null && { is_handed_over: true }),
      ...(stored.media_quality?.unheard && { is_unheard: true }),
      ...(former && { former }),
    };
    context.dispatch.assign(placement, key, plan, failoverState);
    void closeColleagueRooms(context, stored);
    return true;
  } catch (error) {
    throw new SuccessorLost(successor, error);
  }
}

/** A web call that its worker still has goes only to one that need not load anything first. */
function offerOf(key: SessionKey, { dialog, plan, canWait = false }: LostCall): JobOffer {
  const offer = { ...key, sipCallId: null };
  if (plan.transport.type === 'media_stream') return { ...offer, kind: 'phone', isMediaStream: true };
  return dialog ? { ...offer, kind: 'phone' } : { ...offer, kind: 'web', needsReady: canWait };
}

/** Measures how long no worker had a call that has begun. */
function measureGaps(
  { metrics, tracing }: Pick<Context, 'metrics' | 'tracing'>,
  sessionId: string,
  takeovers: readonly Failover[],
  isHandOver = false,
): void {
  const kind = isHandOver ? 'hand_over' : 'failover';
  for (const { lost_at, taken_over_at } of takeovers) {
    const gapMs = Math.max(0, taken_over_at.getTime() - lost_at.getTime());
    metrics.takeoverGaps.observe({ kind }, gapMs / 1000, tracing && sessionId);
  }
}

/**
 * The worker that sends silence to the phone until its successor asks for its stream. Null if not both of
 * them can do that: then the successor begins a stream of its own at once.
 */
function formerOf(
  { epoch, worker }: SessionDocument,
  { dialog, givesStream }: LostCall,
  { takesStream }: Placement,
): FormerWorker | null {
  const isOneStream = dialog !== null && givesStream === true && takesStream === true;
  return isOneStream && worker ? { instance_id: worker.instance_id, epoch } : null;
}

/** A worker that is back, or still has the call, must be silent before its successor speaks. */
async function silenceFormer(
  { dispatch }: Context,
  { _id, epoch, worker }: SessionDocument,
  { confirmsLeaving, takesStream }: { readonly confirmsLeaving?: boolean; readonly takesStream?: boolean },
): Promise<void> {
  const key = { sessionId: _id, epoch };
  if (worker && confirmsLeaving) await dispatch.leave(worker.instance_id, key, takesStream);
  else if (worker) dispatch.abandon(worker.instance_id, key);
}

/**
 * Closes the rooms in which colleagues are lost alone after the worker's death, so that they join again.
 * Colleagues on a direct connection reconnect by themselves.
 */
async function closeColleagueRooms(
  { rooms, logger }: Context,
  { _id, participants = [] }: SessionDocument,
): Promise<void> {
  for (const { room } of participants) {
    if (room !== null)
      await rooms
        ?.remove(room)
        .catch((error: unknown) =>
          logger.warn({ err: error, sessionId: _id }, 'failed to close a colleague’s room'),
        );
  }
}
