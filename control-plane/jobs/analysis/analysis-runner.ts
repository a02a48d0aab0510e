/**
 * The control plane's half of post-call analysis: places queued analyses on workers one after another. An
 * analysis whose workers die or fall silent too often (`worker-losses.ts`) becomes an `error`. A call with
 * nothing to analyse is `skipped` without a model.
 */

import { Fault } from '#config/errors.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { AnalysisResult, SessionItem } from '#protocol/session-record.ts';
import { runFollowUps } from '../../calls/sessions/after-session-change.ts';
import { readPlan } from '../../calls/sessions/new-session.ts';
import { workerOf } from '../../calls/sessions/place-session.ts';
import {
  changeKnownSession,
  changeSession,
  headOf,
  loadSession,
  storeChange,
} from '../../calls/sessions/session-store.ts';
import { readTimeline } from '../../calls/sessions/timeline.ts';
import { applyAnalysis } from '../../calls/settlement/settle-call.ts';
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { dueIn } from '../../platform/store/session-due.ts';
import { isLostForGood } from '../../platform/store/worker-losses.ts';

/** A model call over a long transcript, with a margin. */
export const ANALYSIS_DEADLINE_MS = 120_000;
/** Retry interval while no worker is free, and for runs queued by other processes. */
const TICK_MS = 2_000;
const BATCH = 200;
const QUEUED = { ...dueIn('analysis'), status: 'completed', 'analysis.state': 'queued' };

/** Starts the runner of a process, which places queued analyses in the background. */
export function startAnalysisRunner(context: Context): BackgroundLoop {
  const isDone = async () => (await context.models.sessions.exists(dueIn('analysis', 'analysing'))) === null;
  const options = {
    name: 'analysis',
    everyMs: TICK_MS,
    chore: 'analysis',
    isDone,
    waitsFor: ['sessions'],
  } as const;
  return startBackgroundLoop(context, options, () => placeQueued(context));
}

async function placeQueued(context: Context): Promise<void> {
  const overdue = await sessionsIn(context, {
    ...dueIn('analysing'),
    status: 'completed',
    'analysis.state': 'running',
    'analysis.at': { $lte: new Date(context.clock.wallTime() - ANALYSIS_DEADLINE_MS) },
  });
  for (const { _id } of overdue)
    await changeSession(context, _id, { type: 'analysis.lost', at: now(context), loss: 'silent' });
  for (const { _id } of await sessionsIn(context, QUEUED)) {
    const session = await loadSession(context, _id);
    if (session?.analysis.state !== 'queued') continue;
    if (!(await analyse(context, session))) return;
  }
}

/** Settles or places one analysis; false if no worker is free. */
async function analyse(context: Context, session: SessionDocument): Promise<boolean> {
  const [plan, items] = await Promise.all([readPlan(context, session), readTimeline(context, session)]);
  const prepared = prepareAnalysis(session.analysis, plan, items);
  if (prepared.result === null) return place(context, session, { plan: prepared.plan, items });
  await finish(context, session, prepared.result);
  return true;
}

async function place(
  context: Context,
  session: SessionDocument,
  input: { plan: CallPlan; items: SessionItem[] },
): Promise<boolean> {
  const epoch = session.epoch + 1;
  const key = { sessionId: session._id, epoch };
  const jobId = newId();
  try {
    const placement = await context.dispatch.place({ ...key, kind: 'analysis', sipCallId: null });
    const started = await changeKnownSession(context, session, {
      type: 'analysis.started',
      at: now(context),
      worker: workerOf(placement),
      epoch,
      jobId,
    });
    if (started) {
      context.reported.keep(headOf(started));
      context.dispatch.assignAnalysis(placement, key, { job_id: jobId, ...input });
    } else context.dispatch.withdraw(placement, key);
    return true;
  } catch (error) {
    // An analysis that was marked as started but never assigned reaches its deadline.
    if (error instanceof Fault) return false;
    throw error;
  }
}

async function finish(context: Context, session: SessionDocument, result: AnalysisResult): Promise<void> {
  const { change, amendment } = applyAnalysis(context, session, result);
  const stored = change && (await storeChange(context, session, change, amendment));
  if (stored) await runFollowUps(context, stored);
  // The session was settled concurrently: tries again with the new values.
  else if (change) context.workSignals.notify('analysis');
}

/** The result of an analysis that needs no worker, or else the plan for its worker. */
type PreparedAnalysis =
  | { readonly result: AnalysisResult; readonly plan: null }
  | { readonly result: null; readonly plan: CallPlan };

/** Decides whether an analysis needs a worker; `plan` is null once its conversation is erased. */
export function prepareAnalysis(
  { losses = {} }: Pick<SessionDocument['analysis'], 'losses'>,
  plan: CallPlan | null,
  items: readonly SessionItem[],
): PreparedAnalysis {
  if (isLostForGood(losses))
    return { result: emptyResult('error', 'The analysis could not be completed'), plan: null };
  if (!plan || hasNothingToDo(plan, items)) return { result: emptyResult('skipped', null), plan: null };
  return { result: null, plan };
}

/** True for a conversation without a word of its person, and without any analysis switched on. */
function hasNothingToDo({ config }: CallPlan, items: readonly SessionItem[]): boolean {
  const { summary, data_fields: dataFields, criteria } = config.analysis;
  const isDisabled = !summary.enabled && dataFields.length === 0 && criteria.length === 0;
  return (
    isDisabled ||
    !items.some((item) => item.type === 'message' && item.role === 'user' && item.content.trim() !== '')
  );
}

/** A result without findings. */
function emptyResult(status: 'skipped' | 'error', error: string | null): AnalysisResult {
  return { status, summary: null, data: [], criteria_results: [], error };
}

/** The oldest calls first, in the order of the index. */
function sessionsIn(
  context: Context,
  filter: Record<string, unknown>,
): Promise<Pick<SessionDocument, '_id'>[]> {
  return context.models.sessions
    .find(filter, { _id: 1 })
    .sort({ expires_at: 1 })
    .limit(BATCH)
    .lean<Pick<SessionDocument, '_id'>[]>();
}
