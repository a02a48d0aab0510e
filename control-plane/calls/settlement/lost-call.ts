/**
 * Reads what another worker needs to continue a call whose worker is dead or drains: the frozen plan, and for
 * a phone call the dialog.
 */
import type { CallPlan } from '#protocol/call-plan.ts';
import {
  type ReportedDialog,
  type ReportedPerson,
  reportedDialog,
  reportedPerson,
} from '#protocol/worker-link.ts';
import { planKnowledge } from '../../catalogue/knowledge/plan-knowledge.ts';
import { type Context, now } from '../../platform/context.ts';
import { type SessionDocument, toBuffer } from '../../platform/store/models/session-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { isRunning } from '../../platform/store/session-status.ts';
import { readPlan } from '../sessions/new-session.ts';
import { sealerOf } from '../sessions/session-store.ts';

/** A caller without audio for this long has hung up and is not called back. */
const LOST_FOR_MS = 20_000;

/** A call that needs another worker. */
export interface LostCall {
  readonly plan: CallPlan;
  readonly dialog: ReportedDialog | null;
  readonly person: ReportedPerson | null;
  readonly lostAt: Date;
  /** Whether a draining worker offered it between two turns. */
  readonly isBetweenTurns?: boolean;
  /** Whether its worker, which drains, offered it. */
  readonly isHandOver?: boolean;
  /** Whether it says when it has left the call. */
  readonly confirmsLeaving?: boolean;
  /** Whether it can give up the stream that it sends to a phone. */
  readonly givesStream?: boolean;
  /** Whether it can wait for a worker that is ready for it. */
  readonly canWait?: boolean;
}

/**
 * Data for the successor of a running call; null when the call has not begun or some of the data is missing.
 */
export async function runningCall(
  context: Context,
  session: SessionDocument,
  diedAt: Date | null,
): Promise<LostCall | null> {
  // Its caller was served until the death: a session may be `unknown` while its call goes on.
  const lostAt = diedAt ?? (session.status === 'unknown' ? session.status_at : now(context));
  if (!isRunning(session.status) || context.clock.wallTime() - lostAt.getTime() > LOST_FOR_MS) return null;
  const plan = await planWithKnowledge(context, session);
  if (!plan) return null;
  if (session.channel === 'web_voice' || plan.transport.type === 'media_stream')
    return { plan, dialog: null, person: null, lostAt };
  const dialog = reportedDialog.nullable().parse(readReported(context, session, 'dialog'));
  const person = reportedPerson.nullable().parse(readReported(context, session, 'person'));
  return dialog === null || dialog.local_party === '' ? null : { plan, dialog, person, lostAt };
}

/**
 * The last reported value of the field; null when nothing was reported or the session's key has been
 * destroyed.
 */
function readReported(context: Context, session: SessionDocument, field: 'dialog' | 'person'): unknown {
  const stored = session[field];
  const plain = stored && sealerOf(context, session)?.open(toBuffer(stored), field);
  return plain ? JSON.parse(plain.toString('utf8')) : null;
}

/**
 * Data for placing the session again; null when it can no longer be joined. A ringing phone call was lost
 * with its worker and is not dialled again.
 */
export async function unjoinedCall(
  context: Context,
  session: SessionDocument,
  diedAt: Date | null,
): Promise<LostCall | null> {
  if (session.status !== 'pending' || session.channel !== 'web_voice' || session.expires_at <= now(context))
    return null;
  const plan = await planWithKnowledge(context, session);
  return plan && { plan, dialog: null, person: null, lostAt: diedAt ?? now(context) };
}

/** The stored plan with its knowledge; null once the session's key has been destroyed. */
async function planWithKnowledge(context: Context, session: SessionDocument): Promise<CallPlan | null> {
  const plan = await readPlan(context, session);
  if (!plan) return null;
  const version = await context.models.versions.findById(session.version_id).lean<VersionDocument>();
  return { ...plan, knowledge: version ? await planKnowledge(context, version) : [] };
}
