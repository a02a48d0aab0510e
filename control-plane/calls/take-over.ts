/**
 * Gives the call of a dead worker to another one (design.md §2): the same session under a new epoch, so that whatever the dead one still had on its way changes nothing.
 * The successor gets the frozen plan and what has been said; a phone call's dialog too, a browser comes back by itself.
 * A web session nobody has joined yet is placed again as it was created: its caller never learns of it.
 */
import type { CallPlan } from '#config/call-plan.ts';
import { Fault } from '#config/errors.ts';
import type { SessionItem } from '#config/session-record.ts';
import { type Handover, type ReportedDialog, reportedDialog } from '#config/worker-link.ts';
import { type Context, now } from '../context.ts';
import { plannedKnowledge } from '../knowledge/planned-knowledge.ts';
import { readPlan } from '../sessions/new-session.ts';
import { workerOf } from '../sessions/place-session.ts';
import { step } from '../sessions/session-machine.ts';
import { loadSession, sealerOf, storeChange } from '../sessions/session-store.ts';
import { readTimeline, sealItems } from '../sessions/timeline.ts';
import { type SessionDocument, toBuffer } from '../store/models/session-model.ts';
import type { VersionDocument } from '../store/models/version-model.ts';

/** A caller who has heard nothing for this long has hung up, and is not called back. */
const LOST_FOR_MS = 20_000;
/** A successor may still be starting; a caller does not wait longer for a word. */
const SEARCH_MS = 8_000;
const SEARCH_AGAIN_MS = 100;

/** Hands a running call on; false when it cannot be, and is to be settled. */
export function takeOver(context: Context, sessionId: string, epoch: number): Promise<boolean> {
  return findSuccessor(context, { sessionId, epoch }, runningCall);
}

/** Places a web session whose caller may still join again; false when it cannot be, and is to be ended. */
export function placeAgain(context: Context, sessionId: string, epoch: number): Promise<boolean> {
  return findSuccessor(context, { sessionId, epoch }, awaitedCall);
}

async function findSuccessor(
  context: Context,
  { sessionId, epoch }: { readonly sessionId: string; readonly epoch: number },
  callOf: (context: Context, session: SessionDocument) => Promise<LeftCall | null>,
): Promise<boolean> {
  const deadlineMs = context.clock.now() + SEARCH_MS;
  for (let next = epoch + 1; context.clock.now() < deadlineMs; next++) {
    const session = await loadSession(context, sessionId);
    const call = session && (await callOf(context, session));
    if (!call || session.epoch >= next) return false;
    try {
      if (!(await hand(context, session, { ...call, epoch: next }))) continue;
      context.logger.warn({ sessionId }, 'call given to another worker');
      return true;
    } catch (error) {
      if (!(error instanceof Fault) || error.code === 'draining') return false;
      await context.clock.sleep(SEARCH_AGAIN_MS);
    }
  }
  return false;
}

/** A call without a worker. */
interface LeftCall {
  readonly plan: CallPlan;
  readonly dialog: ReportedDialog | null;
}

/** What the successor of a running call needs; null when the call has not begun, or not everything of it is known. */
async function runningCall(context: Context, session: SessionDocument): Promise<LeftCall | null> {
  const isRunning = session.status === 'active' || session.status === 'unknown';
  if (!isRunning || context.clock.wallTime() - lostAt(context, session).getTime() > LOST_FOR_MS) return null;
  const plan = await wholePlan(context, session);
  if (!plan) return null;
  if (session.channel === 'web_voice') return { plan, dialog: null };
  const sealed = session.dialog && sealerOf(context, session)?.open(toBuffer(session.dialog), 'dialog');
  if (!sealed) return null;
  const dialog = reportedDialog.parse(JSON.parse(sealed.toString('utf8')));
  return dialog.local_party === '' ? null : { plan, dialog };
}

/** What is placed again; null when nobody may join any more. A phone that rings hangs on the worker that is gone, and is not rung a second time. */
async function awaitedCall(context: Context, session: SessionDocument): Promise<LeftCall | null> {
  if (session.status !== 'pending' || session.channel !== 'web_voice' || session.expires_at <= now(context)) return null;
  const plan = await wholePlan(context, session);
  return plan && { plan, dialog: null };
}

/** The plan as it was kept, with its knowledge; null once its key has been destroyed. */
async function wholePlan(context: Context, session: SessionDocument): Promise<CallPlan | null> {
  const plan = await readPlan(context, session);
  if (!plan) return null;
  const version = await context.models.versions.findById(session.version_id).lean<VersionDocument>();
  return { ...plan, knowledge: version ? await plannedKnowledge(context, version) : [] };
}

/** Places the call and hands it over; false when the session changed meanwhile. Throws a `Fault` when no worker takes it. */
async function hand(context: Context, session: SessionDocument, call: LeftCall & { readonly epoch: number }): Promise<boolean> {
  const { plan, dialog, epoch } = call;
  const key = { sessionId: session._id, epoch };
  const placement = await context.dispatch.place({ ...key, kind: dialog ? 'phone' : 'web', sipCallId: null });
  const brokenOff = await brokenOffReply(context, session);
  const change = step(session, { type: 'taken_over', at: now(context), taken: { worker: workerOf(placement), epoch } });
  const sealer = sealerOf(context, session);
  const timeline = brokenOff && sealer ? [await sealItems(context, sealer, { ...key, seq: 0 }, [brokenOff])] : [];
  const stored = change && (await storeChange(context, session, change, timeline.length > 0 ? { push: { timeline } } : {}));
  if (!stored) {
    context.dispatch.withdraw(placement, key);
    return false;
  }
  if (stored.started_at === null) {
    context.dispatch.assign(placement, key, plan);
    return true;
  }
  const handover: Handover = {
    items: await readTimeline(context, stored),
    was_cut_off: brokenOff !== null,
    elapsed_ms: Math.max(0, context.clock.wallTime() - stored.started_at.getTime()),
    lost_at: lostAt(context, session).toISOString(),
    dialog,
  };
  context.dispatch.assign(placement, key, plan, handover);
  return true;
}

/** A session nobody saw was lost when it was last seen; one that was seen until now is lost now. */
function lostAt(context: Context, { status, status_at: statusAt }: SessionDocument): Date {
  return status === 'unknown' ? statusAt : now(context);
}

/** What the caller had heard of the reply that was being said, where no report had told it yet. */
async function brokenOffReply(context: Context, session: SessionDocument): Promise<SessionItem | null> {
  const heard = context.dispatch.heardSoFar(session._id);
  if (!heard) return null;
  const messages = (await readTimeline(context, session)).filter((item) => item.type === 'message');
  const isTold = messages.some(({ role, content }) => role === 'assistant' && content.startsWith(heard.text));
  const id = `m${messages.length + 1}`;
  return isTold
    ? null
    : { type: 'message', role: 'assistant', content: heard.text, turn_id: null, id, created_at: new Date(heard.atMs).toISOString() };
}
