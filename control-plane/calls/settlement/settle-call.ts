/**
 * What workers tell, folded into sessions: a durable report is stored in the same guarded update that
 * advances `last_seq`, so it counts once however often it comes, and a worker whose epoch is over can change
 * nothing.
 */
import type { AnalysisResult } from '#protocol/session-record.ts';
import type { DurableReport, ReportEnvelope } from '#protocol/worker-link.ts';
import { type Context, now } from '../../platform/context.ts';
import type { ReportOutcome, ReportSink } from '../../platform/report-sink.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { runFollowUps } from '../sessions/after-session-change.ts';
import { type SessionChange, step } from '../sessions/session-machine.ts';
import {
  type Amendment,
  changeSession,
  loadSession,
  loadSessionHead,
  type SessionHead,
  sealerOf,
  storeAddition,
  storeChange,
} from '../sessions/session-store.ts';
import { sealItems } from '../sessions/timeline.ts';
import type { JobsOfCalls } from './jobs.ts';
import { ReportedSessions } from './reported-sessions.ts';
import { workerBack, workerDead, workerLost } from './worker-presence.ts';

const NO_CHANGE: SessionChange = { set: {}, events: [] };

/** What settling works with: a control plane's context, and the jobs that wait for what workers tell. */
type Parts = Context & { readonly jobs: JobsOfCalls };

/** Makes the sink over a control plane's context. */
export function createReportSink(base: Context, jobs: JobsOfCalls): ReportSink {
  const context: Parts = { ...base, jobs };
  const reported = new ReportedSessions();
  return {
    apply: async (envelopes, instanceId) => {
      let result: ReportOutcome = { outcome: 'stale' };
      for (const step of stepsOf(envelopes)) {
        result = await applyStep(context, reported, { step, instanceId });
        if (result.outcome !== 'stored') break;
      }
      return result;
    },
    workerLost: (instanceId) => workerLost(context, instanceId),
    workerBack: (instanceId, sessions) => workerBack(context, instanceId, sessions),
    workerDead: (instanceId, diedAt, stoodIn) =>
      workerDead(context, instanceId, { diedAt, stoodIn: stoodIn ?? null }),
  };
}

/** True of a report that only adds to its session; every other one moves it on. */
function isAddition({ type }: DurableReport): boolean {
  return (
    type !== 'joined' && type !== 'dial' && type !== 'ended' && type !== 'analysis' && type !== 'agent_test'
  );
}

/**
 * Reports that follow on one another and are stored in one update: any number that add to their session, or
 * one that moves it on.
 */
type Step = readonly [ReportEnvelope, ...ReportEnvelope[]];

function stepsOf(envelopes: readonly ReportEnvelope[]): Step[] {
  const steps: [ReportEnvelope, ...ReportEnvelope[]][] = [];
  for (const envelope of envelopes) {
    const last = steps.at(-1);
    if (last && isAddition(last[0].report) && isAddition(envelope.report)) last.push(envelope);
    else steps.push([envelope]);
  }
  return steps;
}

/** A step and the worker that handed it over. */
interface Told {
  readonly step: Step;
  readonly instanceId: string;
}

async function applyStep(context: Parts, reported: ReportedSessions, told: Told): Promise<ReportOutcome> {
  const [first] = told.step;
  if (first.report.type === 'agent_test') return context.jobs.testReport(first, first.report);
  if (isAddition(first.report)) return applyAdditions(context, reported, told);
  reported.take(first);
  return applyChange(context, first, told.instanceId);
}

/**
 * What becomes of a report without being stored: of another epoch, there already, or ahead of one that is
 * missing.
 */
function refusalOf(session: SessionHead, { epoch, seq }: ReportEnvelope): ReportOutcome | null {
  if (session.epoch !== epoch) return { outcome: 'stale' };
  if (seq <= session.last_seq) return { outcome: 'stored', seq: session.last_seq };
  return seq > session.last_seq + 1 ? { outcome: 'gap', fromSeq: session.last_seq + 1 } : null;
}

/**
 * One trip to the store for the many reports of a running call: the guard of the update tells when what is
 * remembered is no longer true.
 */
async function applyAdditions(
  context: Parts,
  reported: ReportedSessions,
  { step: envelopes, instanceId }: Told,
): Promise<ReportOutcome> {
  const [first] = envelopes;
  for (;;) {
    const session = reported.take(first) ?? (await loadSessionHead(context, first.session_id));
    if (!session) return { outcome: 'stale' };
    const next = envelopes.find((envelope) => envelope.seq > session.last_seq) ?? first;
    const refusal = refusalOf(session, next);
    if (refusal) return refusal;
    if (session.status === 'unknown' && isFromItsWorker(session, instanceId)) {
      await changeSession(context, session._id, { type: 'link.back', at: now(context) });
      continue;
    }
    const following = followingOn(session.last_seq, envelopes);
    const lastSeq = session.last_seq + following.length;
    const stored = await storeAddition(context, session, {
      ...(await additionsOf(context, session, following)),
      lastSeq,
    });
    if (!stored) continue;
    reported.keep(stored);
    return envelopes.some((envelope) => envelope.seq > lastSeq)
      ? { outcome: 'gap', fromSeq: lastSeq + 1 }
      : { outcome: 'stored', seq: lastSeq };
  }
}

/** The reports behind `lastSeq`, each once, up to the first one that is missing. */
function followingOn(lastSeq: number, envelopes: readonly ReportEnvelope[]): ReportEnvelope[] {
  const following: ReportEnvelope[] = [];
  for (const envelope of envelopes)
    if (envelope.seq === lastSeq + following.length + 1) following.push(envelope);
  return following;
}

async function additionsOf(
  context: Parts,
  session: SessionHead,
  envelopes: readonly ReportEnvelope[],
): Promise<Amendment> {
  let set: Amendment['set'] = {};
  const push: Record<string, unknown[]> = {};
  for (const envelope of envelopes) {
    const addition = await additionOf(context, session, envelope);
    set = { ...set, ...addition.set };
    for (const [field, entries] of Object.entries(addition.push ?? {}))
      push[field] = [...(push[field] ?? []), ...entries];
  }
  return { set, push };
}

async function applyChange(
  context: Context,
  envelope: ReportEnvelope,
  instanceId: string,
): Promise<ReportOutcome> {
  for (;;) {
    const session = await loadSession(context, envelope.session_id);
    if (!session) return { outcome: 'stale' };
    const refusal = refusalOf(session, envelope);
    if (refusal) return refusal;
    const { change, amendment } = changeOf(context, session, envelope.report);
    const seen = isFromItsWorker(session, instanceId)
      ? (change ?? signOfLife(session, now(context)))
      : unseen(session, change ?? NO_CHANGE);
    const stored = await storeChange(context, session, seen, { ...amendment, lastSeq: envelope.seq });
    if (!stored) continue;
    if (change) await announce(context, stored, envelope.report);
    return { outcome: 'stored', seq: envelope.seq };
  }
}

/**
 * Whatever a worker reports of its own session, it is still there; what another one found in a dead worker's
 * spool says nothing of now.
 */
function isFromItsWorker({ worker }: SessionHead, instanceId: string): boolean {
  return worker?.instance_id === instanceId;
}

/** A session that began by a report of a dead worker was last seen then. */
function unseen(session: SessionDocument, change: SessionChange): SessionChange {
  if (change.set.status !== 'active') return change;
  const begun = { ...session, ...change.set };
  return {
    ...change,
    set: { ...change.set, ...step(begun, { type: 'link.lost', at: begun.status_at })?.set },
  };
}

/** A session we had lost sight of is active again. */
function signOfLife(session: SessionDocument, at: Date): SessionChange {
  return step(session, { type: 'link.back', at }) ?? NO_CHANGE;
}

interface Folded {
  readonly change: SessionChange | null;
  readonly amendment?: Amendment;
}

function changeOf(context: Context, session: SessionDocument, report: DurableReport): Folded {
  switch (report.type) {
    case 'joined':
      return { change: step(session, { type: 'joined', at: new Date(report.at) }) };
    case 'dial':
      return {
        change: step(session, { type: 'dialled', at: new Date(report.at), dialStatus: report.dial_status }),
        amendment: { set: { sip_call_id: report.sip_call_id } },
      };
    case 'ended':
      return { change: step(session, { type: 'ended', at: new Date(report.at), reason: report.end_reason }) };
    case 'analysis':
      return session.analysis.job_id === report.job_id
        ? analysed(context, session, report.result)
        : { change: null };
    default:
      return { change: null };
  }
}

/**
 * What a report adds to its session; nothing of what would be sealed once the session's key has been
 * destroyed.
 */
async function additionOf(
  context: Parts,
  session: SessionHead,
  { report, epoch, seq }: ReportEnvelope,
): Promise<Amendment> {
  switch (report.type) {
    case 'dialog': {
      const sealer = sealerOf(context, session);
      if (!sealer) return {};
      return {
        set: {
          dialog: sealer.seal(JSON.stringify(report), 'dialog'),
          sip_call_id: session.sip_call_id ?? report.sip_call_id,
        },
      };
    }
    case 'person': {
      const sealer = sealerOf(context, session);
      return sealer
        ? { set: { person: report.person && sealer.seal(JSON.stringify(report.person), 'person') } }
        : {};
    }
    case 'items': {
      const sealer = sealerOf(context, session);
      if (!sealer) return {};
      return {
        push: {
          timeline: [await sealItems(context, sealer, { sessionId: session._id, epoch, seq }, report.items)],
        },
      };
    }
    case 'opt_out':
      // On the list before the report counts as stored; again, it changes nothing.
      await context.jobs.optedOut(session, report.by);
      return {};
    case 'turn':
      return { push: { turns: [report.latency] } };
    case 'silence':
      return { push: { silences: [report.silence] } };
    case 'usage': {
      const { type: _, ...usage } = report;
      return { push: { usage: [usage] } };
    }
    case 'recording':
      return { set: { tracks: report.tracks.map((track) => ({ ...track, epoch })) } };
    case 'media':
      return { set: { media_quality: report.quality } };
    default:
      return {};
  }
}

/** Takes an analysis result: sealed in the session, told to the webhooks. */
export function analysed(
  context: Pick<Context, 'clock' | 'dataKeys'>,
  session: SessionDocument,
  result: AnalysisResult,
): Folded {
  const at = now(context);
  const settled = settledResult(result);
  const sealed = sealerOf(context, session)?.seal(JSON.stringify(settled), 'analysis') ?? null;
  return {
    change: step(session, { type: 'analysis.finished', at, outcome: settled.status, result: sealed }),
    amendment: { analysis: { ...settled, finished_at: at.toISOString() } },
  };
}

/** A skipped or failed analysis has its cause and nothing else. */
function settledResult(result: AnalysisResult): AnalysisResult {
  return result.status === 'completed'
    ? { ...result, error: null }
    : {
        ...result,
        summary: null,
        data: [],
        criteria_results: [],
        error: result.status === 'error' ? (result.error ?? 'analysis failed') : null,
      };
}

async function announce(context: Context, session: SessionDocument, report: DurableReport): Promise<void> {
  if (report.type === 'joined')
    context.logger.info({ sessionId: session._id, channel: session.channel }, 'call joined');
  if (report.type === 'ended') {
    context.logger.info(
      { sessionId: session._id, endReason: session.end_reason, seconds: session.duration_seconds },
      'call ended',
    );
  }
  await runFollowUps(context, session);
}
