/** Post-call analysis of text sessions: the same job for a worker as the analysis of a call. */
import { Fault } from '#config/errors.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { AnalysisResult } from '#protocol/session-record.ts';
import type { ReportEnvelope } from '#protocol/worker-link.ts';
import { sealerOf } from '../../calls/sessions/session-store.ts';
import { normaliseResult } from '../../calls/settlement/settle-call.ts';
import { readTextPlan } from '../../calls/texts/text-session-parts.ts';
import { readTextItems } from '../../calls/texts/text-timeline.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import type { ReportOutcome } from '../../platform/report-sink.ts';
import { OPEN_TURNS, type TextSessionDocument } from '../../platform/store/models/text-session-model.ts';
import { type Loss, lossOf } from '../../platform/store/worker-losses.ts';
import { ANALYSIS_DEADLINE_MS, prepareAnalysis } from '../analysis/analysis-runner.ts';
import { sendTextEvent } from './text-events.ts';

const BATCH = 50;

/** Reports ended sessions to the webhooks and places their analyses. Repeats what a crash has interrupted. */
export async function analyseEnded(context: Context): Promise<void> {
  const { textSessions } = context.models;
  const silent = new Date(context.clock.wallTime() - ANALYSIS_DEADLINE_MS);
  const overdue = { 'analysis.state': 'running', 'analysis.at': { $lte: silent } } as const;
  if (await textSessions.exists(overdue))
    await textSessions.updateMany(overdue, { $set: queuedFields(context), ...incrementOf('silent') });
  const queued = await textSessions
    .find({ 'analysis.state': 'queued' })
    .sort({ 'analysis.at': 1 })
    .limit(BATCH)
    .lean<TextSessionDocument[]>();
  for (const session of queued) {
    if (await hasOpenTurns(context, session)) continue;
    await sendTextEvent(context, session, 'text_session.ended');
    if (!(await analyse(context, session))) return;
  }
}

/** Stores the result of an analysis and reports it to the webhooks. */
export async function applyTextAnalysis(
  context: Context,
  envelope: ReportEnvelope,
  result: AnalysisResult,
): Promise<ReportOutcome> {
  const { session_id: id, epoch, seq } = envelope;
  const session = await context.models.textSessions.findById(id).lean<TextSessionDocument>();
  if (!session || session.epoch !== epoch) return { outcome: 'stale' };
  await finish(context, session, result);
  return { outcome: 'stored', seq };
}

/** Queues the analyses of a lost worker again; `hungIn` is what had blocked its event loop. */
export async function requeueLostTextAnalyses(
  context: Context,
  instanceId: string,
  hungIn: string | null,
): Promise<void> {
  const { textSessions } = context.models;
  const lost = { instance_id: instanceId, 'analysis.state': 'running' } as const;
  for (const { _id } of await textSessions.find(lost, { _id: 1 }).lean<{ _id: string }[]>()) {
    const change = { $set: queuedFields(context), ...incrementOf(lossOf(_id, hungIn)) };
    await textSessions.updateOne({ ...lost, _id }, change);
    context.workSignals.notify('text-sessions');
  }
}

/** Settles or places one analysis; false if no worker is free. */
async function analyse(context: Context, session: TextSessionDocument): Promise<boolean> {
  const [stored, items] = await Promise.all([
    readTextPlan(context, session),
    readTextItems(context, session),
  ]);
  const { plan, result } = prepareAnalysis(session.analysis, stored, items);
  if (plan === null) {
    await finish(context, session, result);
    return true;
  }
  const key = { sessionId: session._id, epoch: session.epoch + 1 };
  const jobId = newId();
  try {
    const placement = await context.dispatch.place({ ...key, kind: 'analysis', sipCallId: null });
    const { modifiedCount } = await context.models.textSessions.updateOne(
      { _id: session._id, epoch: session.epoch, 'analysis.state': 'queued' },
      {
        $set: {
          epoch: key.epoch,
          instance_id: placement.instanceId,
          'analysis.state': 'running',
          'analysis.at': now(context),
          'analysis.job_id': jobId,
        },
      },
    );
    if (modifiedCount === 0) context.dispatch.withdraw(placement, key);
    else context.dispatch.assignAnalysis(placement, key, { job_id: jobId, plan: asOfCall(plan), items });
    return true;
  } catch (error) {
    // An analysis that was marked as started but never assigned reaches its deadline.
    if (error instanceof Fault) return false;
    throw error;
  }
}

/** A worker of an earlier release knows the channels of calls only. */
function asOfCall(plan: CallPlan): CallPlan {
  return { ...plan, system_variables: { ...plan.system_variables, channel: plan.channel } };
}

async function finish(context: Context, session: TextSessionDocument, result: AnalysisResult): Promise<void> {
  const at = now(context);
  const normalised = normaliseResult(result);
  const { state, finished_at: finished } = session.analysis;
  // Before the result counts as stored, and under its time: a repetition sends the same.
  const analysis = { ...normalised, finished_at: (finished ?? at).toISOString() };
  if (state === 'queued' || state === 'running')
    await sendTextEvent(context, { ...session }, 'text_session.analyzed', analysis);
  const sealed = sealerOf(context, session)?.seal(JSON.stringify(normalised), 'analysis') ?? null;
  await context.models.textSessions.updateOne(
    { _id: session._id, epoch: session.epoch, 'analysis.state': { $in: ['queued', 'running'] } },
    {
      $set: {
        instance_id: null,
        'analysis.state': normalised.status,
        'analysis.at': at,
        'analysis.finished_at': at,
        'analysis.result': sealed,
        'analysis.runs': session.analysis.runs + 1,
      },
    },
  );
}

async function hasOpenTurns({ models }: Context, { _id }: TextSessionDocument): Promise<boolean> {
  const open = { session_id: _id, $or: [{ status: { $in: [...OPEN_TURNS] } }, { is_unsettled: true }] };
  return (await models.textTurns.exists(open)) !== null;
}

function queuedFields(context: Context) {
  return { instance_id: null, 'analysis.state': 'queued', 'analysis.at': now(context) };
}

function incrementOf(loss: Loss) {
  return { $inc: { [`analysis.losses.${loss}`]: 1 } };
}
