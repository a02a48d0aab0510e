/**
 * Billing of a session: first the intent, then the charge, then the session; the rest is settled at the end.
 * Every step is idempotent.
 */
import { type Fault, fault } from '#config/errors.ts';
import { type Context, now } from '../../platform/context.ts';
import type {
  SessionBilling,
  SessionDocument,
  SessionHead,
} from '../../platform/store/models/session-model.ts';
import type { WorkerAssignment } from './session-machine.ts';
import {
  changeKnownSession,
  changeNewSession,
  changeSession,
  headOf,
  loadSessionHead,
  type SessionParts,
} from './session-store.ts';

type Parts = SessionParts & Pick<Context, 'ledger'>;

/**
 * The initial charge of a new session: the price of its first minute including the phone surcharge. Previews
 * are free.
 */
export function openingBilling(
  context: Pick<Context, 'settings' | 'clock'>,
  channel: SessionDocument['channel'],
  isPreview: boolean,
): SessionBilling {
  const { PRICE_CALL_PER_MINUTE, PRICE_PHONE_PER_MINUTE } = context.settings;
  const price = PRICE_CALL_PER_MINUTE + (channel === 'web_voice' ? 0 : PRICE_PHONE_PER_MINUTE);
  const isFree = isPreview || price === 0;
  return {
    state: isFree ? 'free' : 'hold_due',
    at: now(context),
    price_per_minute: isFree ? 0 : price,
    hold: isFree ? 0 : price,
    due: 0,
  };
}

/**
 * Charges a session stored as `creating`. Throws `Fault('out_of_credit')` and deletes the session in that
 * case. After any other failure before confirmation, the sweeper refunds the charge.
 */
export async function postHold(context: Context, draft: SessionDocument): Promise<void> {
  if (draft.billing.state !== 'hold_due') return;
  try {
    const entry = await context.ledger.post({
      userId: draft.user_id,
      key: holdKey(draft._id),
      kind: 'hold',
      amountMicros: -draft.billing.hold,
      floorMicros: 0,
    });
    if (entry.kind === 'void') throw fault('database_unavailable');
  } catch (error) {
    if (isOutOfCredit(error))
      await context.models.sessions.deleteOne({ _id: draft._id, 'billing.state': 'hold_due' });
    throw error;
  }
}

/**
 * Records that a session is charged, and the worker that has it, if any. Throws `database_unavailable` if the
 * session has been swept and refunded in the meantime.
 */
export async function confirmSession(
  context: Context,
  draft: SessionDocument,
  assigned?: WorkerAssignment,
): Promise<SessionDocument> {
  const opened = await changeNewSession(context, draft, {
    type: 'hold.posted',
    at: now(context),
    ...(assigned && { assigned }),
  });
  if (!opened) throw fault('database_unavailable');
  context.metrics.callsCreated.inc({ channel: opened.channel });
  if (assigned) context.reported.keep(headOf(opened));
  return opened;
}

/** Posts the amount due for a finished session; does nothing when nothing is due. */
export async function settleSession(context: Parts, session: SessionHead): Promise<void> {
  if (session.billing.state !== 'settle_due') return;
  if (session.billing.due !== 0) {
    await context.ledger.post({
      userId: session.user_id,
      key: `s:${session._id}:settle`,
      kind: 'settle',
      amountMicros: session.billing.due,
    });
  }
  await changeKnownSession(context, session, { type: 'settled', at: now(context) });
}

/**
 * Refunds an unfinished creation: posts a zero entry under the hold's key, which either blocks a late hold or
 * returns the existing one.
 */
export async function voidHold(context: Parts, session: SessionDocument): Promise<void> {
  const held =
    session.billing.state === 'hold_due'
      ? -(
          await context.ledger.post({
            userId: session.user_id,
            key: holdKey(session._id),
            kind: 'void',
            amountMicros: 0,
          })
        ).amountMicros
      : 0;
  const voided =
    (await changeSession(context, session._id, { type: 'hold.voided', at: now(context), held })) ??
    (await loadSessionHead(context, session._id));
  if (voided) await settleSession(context, voided);
}

function holdKey(sessionId: string): string {
  return `s:${sessionId}:hold`;
}

function isOutOfCredit(error: unknown): error is Fault {
  return error instanceof Error && 'code' in error && error.code === 'out_of_credit';
}
