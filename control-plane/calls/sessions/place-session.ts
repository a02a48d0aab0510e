/**
 * Opens a session on a worker: intent first, then its charge and a worker's yes side by side. When none takes
 * it the charge goes back (503 without a free worker, 502 when one cannot be reached).
 */
import type { CallPlan } from '#protocol/call-plan.ts';
import { type Context, now } from '../../platform/context.ts';
import type { JobOffer, Placement } from '../../platform/dispatch.ts';
import { insertWhole } from '../../platform/store/insert-whole.ts';
import type { SessionDocument, SessionWorker } from '../../platform/store/models/session-model.ts';
import { confirmSession, postHold, settleSession } from './charge.ts';
import { placeFairly, requireShare } from './fair-slots.ts';
import { keepPlan } from './new-session.ts';
import { changeSession } from './session-store.ts';

/** A session a worker has accepted. */
export interface PlacedSession {
  readonly session: SessionDocument;
  readonly placement: Placement;
}

/** Stores a session that no worker is asked for, charged. Throws `out_of_credit`, leaving nothing behind. */
export async function openSession(context: Context, draft: SessionDocument): Promise<SessionDocument> {
  await insertWhole(context.models.sessions, draft);
  await postHold(context, draft);
  return confirmSession(context, draft);
}

/**
 * Stores a session, charged and accepted by a worker, with its plan where there is one by now. Throws
 * `out_of_credit`, `share_of_workers`, `no_capacity` or `draining`; nothing stays charged then.
 */
export async function openPlacedSession(
  context: Context,
  draft: SessionDocument,
  job: { kind: JobOffer['kind']; plan?: CallPlan },
): Promise<PlacedSession> {
  const { kind, plan } = job;
  const offer = { sessionId: draft._id, epoch: draft.epoch + 1, kind, sipCallId: draft.sip_call_id };
  // Before anything is stored: a refusal after that costs eight commands of the store.
  await requireShare(context, kind, draft.user_id);
  await insertWhole(context.models.sessions, draft);
  const [held, accepted] = await Promise.allSettled([
    postHold(context, draft),
    placeFairly(context, offer, draft.user_id),
  ]);
  if (accepted.status === 'rejected') {
    if (held.status === 'rejected') throw held.reason;
    await confirmSession(context, draft);
    await refuseSession(context, draft._id);
    throw accepted.reason;
  }
  const placement = accepted.value;
  try {
    if (held.status === 'rejected') throw held.reason;
    const confirmed = confirmSession(context, draft, { worker: workerOf(placement), epoch: offer.epoch });
    const [session] = await Promise.all([confirmed, plan && keepPlan(context, draft, plan)]);
    return { session, placement };
  } catch (error) {
    context.dispatch.withdraw(placement, offer);
    throw error;
  }
}

/**
 * Hands the plan to the session's worker, once what both need is prepared. Throws `gateway_unreachable` after
 * giving the charge back.
 */
export async function assignSession(
  context: Context,
  placed: PlacedSession,
  plan: CallPlan,
  prepare?: () => Promise<void>,
): Promise<void> {
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
  return {
    instance_id: placement.instanceId,
    supervisor_run: placement.supervisorRun,
    sip_tag: placement.sipTag,
  };
}

/** Gives up a session whose creation cannot be completed. */
export async function refuseSession(context: Context, sessionId: string): Promise<void> {
  if (await changeSession(context, sessionId, { type: 'creation.refused', at: now(context) }))
    await settleSession(context, sessionId);
}
