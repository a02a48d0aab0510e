/** Puts an opened session on a worker; when none takes it the charge goes back (running.md: 503 without a free worker, 502 when one cannot be reached). */
import type { CallPlan } from '#config/call-plan.ts';
import { fault } from '#config/errors.ts';
import { type Context, now } from '../context.ts';
import type { SessionDocument, SessionWorker } from '../store/models/session-model.ts';
import type { JobOffer, Placement } from '../workers/dispatch.ts';
import { settleSession } from './charge.ts';
import { changeKnownSession, changeSession } from './session-store.ts';

/** A session a worker has accepted. */
export interface PlacedSession {
  readonly session: SessionDocument;
  readonly placement: Placement;
}

/** Finds a worker for a pending session. Throws `no_capacity`, `draining` or `gateway_unreachable` after giving the charge back. */
export async function placeSession(context: Context, session: SessionDocument, kind: JobOffer['kind']): Promise<PlacedSession> {
  try {
    return await takeWorker(context, session, kind);
  } catch (error) {
    await refuseSession(context, session._id);
    throw error;
  }
}

/** Hands the plan to the session's worker, once what both need is prepared. Throws `gateway_unreachable` after giving the charge back. */
export async function assignSession(context: Context, placed: PlacedSession, plan: CallPlan, prepare?: () => Promise<void>): Promise<void> {
  const { session, placement } = placed;
  const key = { sessionId: session._id, epoch: session.epoch };
  try {
    await prepare?.();
    context.dispatch.assign(placement, key, plan);
  } catch (error) {
    context.dispatch.withdraw(placement, key);
    await refuseSession(context, session._id);
    throw error;
  }
}

/** What is stored of the worker that took a job. */
export function workerOf(placement: Placement): SessionWorker {
  return { instance_id: placement.instanceId, supervisor_run: placement.supervisorRun, sip_tag: placement.sipTag };
}

/** Gives up a session whose creation cannot be completed. */
export async function refuseSession(context: Context, sessionId: string): Promise<void> {
  if (await changeSession(context, sessionId, { type: 'creation.refused', at: now(context) })) await settleSession(context, sessionId);
}

async function takeWorker(context: Context, session: SessionDocument, kind: JobOffer['kind']): Promise<PlacedSession> {
  const epoch = session.epoch + 1;
  const placement = await context.dispatch.place({ sessionId: session._id, epoch, kind, sipCallId: session.sip_call_id });
  const placed = await changeKnownSession(context, session, { type: 'worker.placed', at: now(context), worker: workerOf(placement), epoch });
  if (placed) return { session: placed, placement };
  context.dispatch.withdraw(placement, { sessionId: session._id, epoch });
  throw fault('gateway_unreachable');
}
