/**
 * Opens a session on a worker: stores the intent, then charges it and asks a worker in parallel. If no worker
 * takes it, the charge is refunded (503 without a free worker, 502 when a worker cannot be reached).
 */
import { Fault } from '#config/errors.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { Context } from '../../platform/context.ts';
import type { JobOffer, Placement, SipRoute } from '../../platform/dispatch.ts';
import { insertDocument } from '../../platform/store/insert-documents.ts';
import type { SessionDocument, SessionWorker } from '../../platform/store/models/session-model.ts';
import { DatabaseWaitError } from '../../platform/store/request-wait.ts';
import { confirmSession, postHold } from './charge.ts';
import { placeFairly, requireShare } from './fair-slots.ts';
import { giveUpCreation } from './give-up-creation.ts';
import { storePlan } from './new-session.ts';

/** A session that a worker has accepted. */
export interface PlacedSession {
  readonly session: SessionDocument;
  readonly placement: Placement;
}

/**
 * Stores and charges a session that needs no worker. Throws `out_of_credit` and deletes the session in that
 * case.
 */
export async function openUnplacedSession(
  context: Context,
  draft: SessionDocument,
): Promise<SessionDocument> {
  await insertDocument(context.models.sessions, draft);
  await postHold(context, draft);
  return confirmSession(context, draft);
}

/**
 * Stores and charges a session that a worker has accepted, together with its plan if already available.
 * Throws `out_of_credit`, `share_of_workers`, `no_capacity` or `draining`; after an error nothing stays
 * charged. Throws `DatabaseWaitError` if the session still has to be given up: an idempotency key must not be
 * released before.
 */
export async function placeSession(
  context: Context,
  draft: SessionDocument,
  job: Pick<JobOffer, 'kind' | 'isMediaStream'> & { plan?: CallPlan; route?: SipRoute },
): Promise<PlacedSession> {
  const { kind, plan, ...how } = job;
  const offer = { sessionId: draft._id, epoch: draft.epoch + 1, kind, sipCallId: draft.sip_call_id, ...how };
  // Checked before anything is stored: a later refusal costs eight database commands.
  await requireShare(context, kind, draft);
  await insertDocument(context.models.sessions, draft);
  const [held, accepted] = await Promise.allSettled([
    postHold(context, draft),
    placeFairly(context, offer, draft),
  ]);
  if (accepted.status === 'rejected') {
    if (held.status === 'rejected') throw held.reason;
    await confirmSession(context, draft);
    throw (await giveUpCreation(context, draft._id)) ? accepted.reason : new DatabaseWaitError();
  }
  const placement = accepted.value;
  try {
    if (held.status === 'rejected') throw held.reason;
    const confirmed = confirmSession(context, draft, { worker: workerOf(placement), epoch: offer.epoch });
    const [session] = await Promise.all([confirmed, plan && storePlan(context, draft, plan)]);
    return { session, placement };
  } catch (error) {
    context.dispatch.withdraw(placement, offer);
    // Its confirmation may be stored although the answer was lost: it would seem to be a placed call.
    if (!(error instanceof Fault)) await giveUpCreation(context, draft._id);
    throw error;
  }
}

/**
 * Sends the plan to the session's worker after `prepare` has finished. Throws `gateway_unreachable` after
 * refunding the charge, and `DatabaseWaitError` if that has to wait.
 */
export async function assignSession(
  context: Context,
  placed: PlacedSession,
  plan: CallPlan,
  prepare?: () => Promise<void>,
): Promise<void> {
  const { session, placement } = placed;
  try {
    await prepare?.();
    context.dispatch.assign(placement, { sessionId: session._id, epoch: session.epoch }, plan);
  } catch (error) {
    throw (await withdrawSession(context, placed)) ? error : new DatabaseWaitError();
  }
}

/** The stored description of the worker that accepted a job. */
export function workerOf(placement: Placement): SessionWorker {
  return {
    instance_id: placement.instanceId,
    supervisor_run: placement.supervisorRun,
    sip_tag: placement.sipTag,
  };
}

/**
 * Takes a session back from its worker before it was joined: frees the worker's slot and refunds it. Returns
 * false if the refund has to wait for the database.
 */
export async function withdrawSession(
  context: Context,
  { session, placement }: PlacedSession,
): Promise<boolean> {
  context.dispatch.withdraw(placement, { sessionId: session._id, epoch: session.epoch });
  return giveUpCreation(context, session._id);
}
