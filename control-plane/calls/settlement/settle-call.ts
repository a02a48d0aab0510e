/**
 * Applies worker reports to sessions. A durable report is stored in the same guarded update that advances
 * `last_seq`, so it counts once however often it is received, and a worker with an outdated epoch can change
 * nothing.
 */
import type { AnalysisResult } from '#protocol/session-record.ts';
import type { DurableReport, ReportEnvelope } from '#protocol/worker-link.ts';
import { type Context, now } from '../../platform/context.ts';
import type { ReportOutcome, ReportSink } from '../../platform/report-sink.ts';
import type { SessionDocument, SessionHead } from '../../platform/store/models/session-model.ts';
import { isLive } from '../../platform/store/session-status.ts';
import { runFollowUps } from '../sessions/after-session-change.ts';
import { linkOf } from '../sessions/call-chain.ts';
import { type SessionChange, step } from '../sessions/session-machine.ts';
import {
  type Amendment,
  changeSession,
  headOf,
  loadSessionHead,
  sealerOf,
  storeAddition,
  storeChange,
} from '../sessions/session-store.ts';
import { sealItems } from '../sessions/timeline.ts';
import type { CallJobs } from './call-jobs.ts';
import { measureReports } from './measure-reports.ts';
import { workerBack, workerDead, workerHandsOver, workerLost, workersHeard } from './worker-presence.ts';

const NO_CHANGE: SessionChange = { set: {}, events: [] };

/** Dependencies of settlement. */
interface Settlement {
  readonly context: Context;
  /** Jobs that wait for reports. */
  readonly jobs: CallJobs;
}

/** Creates the report sink of a control plane. */
export function createReportSink(context: Context, jobs: CallJobs): ReportSink {
  const settlement: Settlement = { context, jobs };
  return {
    apply: async (envelopes, instanceId) => {
      let result: ReportOutcome = { outcome: 'stale' };
      for (const batch of batchesOf(envelopes)) {
        result = await applyBatch(settlement, batch, instanceId);
        if (result.outcome !== 'stored') break;
      }
      return result;
    },
    workerLost: (instanceId, at) => workerLost(context, instanceId, at),
    workersHeard: (instanceIds) => workersHeard(context, instanceIds),
    workerBack: (instanceId, sessions, link) => workerBack(context, instanceId, sessions, link),
    handOver: (instanceId, call) => workerHandsOver(context, instanceId, call),
    workerDead: (instanceId, diedAt, hungIn = null, isStillDead = undefined) =>
      workerDead(context, jobs, { instanceId, diedAt, hungIn, isStillDead }),
  };
}

/** Reports that may change the status of their session; all others only add data to it. */
const CHANGES: ReadonlySet<DurableReport['type']> = new Set([
  'joined',
  'dial',
  'ended',
  'analysis',
  'agent_test',
  'text_turn',
]);

function isAddition({ type }: DurableReport): boolean {
  return !CHANGES.has(type);
}

/** Reports about something else than a session. */
function isOfJob({ type }: DurableReport): boolean {
  return type === 'agent_test' || type === 'text_turn';
}

/**
 * Consecutive reports stored in one update: any number of additions, then at most one report that may change
 * the status. The result of an agent test or of a text turn is alone.
 */
type ReportBatch = readonly [ReportEnvelope, ...ReportEnvelope[]];

function batchesOf(envelopes: readonly ReportEnvelope[]): ReportBatch[] {
  const batches: [ReportEnvelope, ...ReportEnvelope[]][] = [];
  for (const envelope of envelopes) {
    const last = batches.at(-1);
    const isOpen = last?.every(({ report }) => isAddition(report)) && !isOfJob(envelope.report);
    if (isOpen) last?.push(envelope);
    else batches.push([envelope]);
  }
  return batches;
}

async function applyBatch(
  settlement: Settlement,
  batch: ReportBatch,
  instanceId: string,
): Promise<ReportOutcome> {
  const [first] = batch;
  const { report } = first;
  if (report.type === 'agent_test') return settlement.jobs.testReport(first, report);
  if (report.type === 'text_turn') return settlement.jobs.turnReport(first, report);
  return applyToSession(settlement, batch, instanceId);
}

/** The analysis of a text session, which is not among the sessions of calls. */
async function reportOfTextSession({ jobs }: Settlement, envelope: ReportEnvelope): Promise<ReportOutcome> {
  const { report } = envelope;
  return report.type === 'analysis' ? jobs.textAnalysis(envelope, report.result) : { outcome: 'stale' };
}

/** The outcome of a report that is not stored: it has another epoch, is a duplicate, or comes after a gap. */
function refusalOf(session: SessionHead, { epoch, seq }: ReportEnvelope): ReportOutcome | null {
  if (session.epoch > epoch) return { outcome: 'stale', isTaken: true };
  if (session.epoch !== epoch) return { outcome: 'stale' };
  if (seq <= session.last_seq) return { outcome: 'stored', seq: session.last_seq };
  return seq > session.last_seq + 1 ? { outcome: 'gap', fromSeq: session.last_seq + 1 } : null;
}

/**
 * A single database round trip for most reports: if the cached session is outdated, the guard of the update
 * fails.
 */
async function applyToSession(
  settlement: Settlement,
  envelopes: ReportBatch,
  instanceId: string,
): Promise<ReportOutcome> {
  const { context } = settlement;
  const { reported } = context;
  const [first] = envelopes;
  for (;;) {
    const session = reported.take(first) ?? (await loadSessionHead(context, first.session_id));
    if (!session) return reportOfTextSession(settlement, first);
    const next = envelopes.find((envelope) => envelope.seq > session.last_seq) ?? first;
    const refusal = refusalOf(session, next);
    if (refusal) return refusal;
    const following = followingOn(session.last_seq, envelopes);
    const stored = await storeReports(settlement, session, following, instanceId);
    if (!stored) continue;
    // Settling an ended call changes the session at once, perhaps already: this version would be outdated.
    if (isLive(stored.status) || following.every(({ report }) => isAddition(report))) reported.keep(stored);
    const lastSeq = session.last_seq + following.length;
    return envelopes.some((envelope) => envelope.seq > lastSeq)
      ? { outcome: 'gap', fromSeq: lastSeq + 1 }
      : { outcome: 'stored', seq: lastSeq };
  }
}

/** Stores the reports that follow the session's last one in one update; null after a conflict. */
async function storeReports(
  settlement: Settlement,
  session: SessionHead,
  envelopes: readonly ReportEnvelope[],
  instanceId: string,
): Promise<SessionHead | null> {
  const { context } = settlement;
  const [first, last] = [envelopes[0]?.report, envelopes.at(-1)?.report];
  const isBack = session.status === 'unknown' && isFromItsWorker(session, instanceId);
  if (isBack && first && isAddition(first)) {
    await changeSession(context, session._id, { type: 'link.back', at: now(context) });
    return null;
  }
  const lastSeq = session.last_seq + envelopes.length;
  const additions = { ...(await additionsOf(settlement, session, envelopes)), lastSeq };
  const stored =
    !last || isAddition(last)
      ? await storeAddition(context, session, additions)
      : await storeReportedChange(context, session, { report: last, additions, instanceId });
  if (stored) {
    measureReports(context, session, envelopes);
    context.turns.note(session.user_id);
  }
  return stored;
}

/** The reports after `lastSeq` without duplicates, up to the first gap. */
function followingOn(lastSeq: number, envelopes: readonly ReportEnvelope[]): ReportEnvelope[] {
  const following: ReportEnvelope[] = [];
  for (const envelope of envelopes)
    if (envelope.seq === lastSeq + following.length + 1) following.push(envelope);
  return following;
}

async function additionsOf(
  settlement: Settlement,
  session: SessionHead,
  envelopes: readonly ReportEnvelope[],
): Promise<Amendment> {
  let set: Amendment['set'] = {};
  const push: Record<string, unknown[]> = {};
  for (const envelope of envelopes) {
    const addition = await additionOf(settlement, session, envelope);
    set = { ...set, ...addition.set };
    for (const [field, entries] of Object.entries(addition.push ?? {}))
      push[field] = [...(push[field] ?? []), ...entries];
  }
  const link = linkOf(settlement.context, session, envelopes);
  return { set: { ...set, ...link.set }, push: { ...push, ...link.push } };
}

/** Stores a report that may change the status, with the additions before it; null after a conflict. */
async function storeReportedChange(
  context: Context,
  session: SessionHead,
  reported: {
    readonly report: DurableReport;
    readonly additions: Amendment & { readonly lastSeq: number };
    readonly instanceId: string;
  },
): Promise<SessionHead | null> {
  const { report, additions, instanceId } = reported;
  const { change, amendment } = changeOf(context, session, report);
  const seen = isFromItsWorker(session, instanceId)
    ? (change ?? signOfLife(session, now(context)))
    : unseen(session, change ?? NO_CHANGE);
  const set = { ...additions.set, ...amendment?.set };
  // A report about a call that is over, most often its end a second time.
  if (seen === NO_CHANGE) return storeAddition(context, session, { ...additions, set });
  const stored = await storeChange(context, session, seen, { ...additions, ...amendment, set });
  if (stored && change) await announce(context, stored, report);
  return stored && headOf(stored);
}

/**
 * A report from the session's own worker shows that the worker is alive. A report forwarded from a dead
 * worker's spool does not.
 */
function isFromItsWorker({ worker }: SessionHead, instanceId: string): boolean {
  return worker?.instance_id === instanceId;
}

/** A session started by a report from a dead worker becomes `unknown` as of that report. */
function unseen(session: SessionHead, change: SessionChange): SessionChange {
  if (change.set.status !== 'active') return change;
  const begun = { ...session, ...change.set };
  return {
    ...change,
    set: { ...change.set, ...step(begun, { type: 'link.lost', at: begun.status_at })?.set },
  };
}

/** Marks an `unknown` session as active again. */
function signOfLife(session: SessionHead, at: Date): SessionChange {
  return step(session, { type: 'link.back', at }) ?? NO_CHANGE;
}

interface SessionUpdate {
  readonly change: SessionChange | null;
  /** Without lists: those of the additions before it are stored with the change. */
  readonly amendment?: Pick<Amendment, 'set' | 'analysis'>;
}

function changeOf(context: Context, session: SessionHead, report: DurableReport): SessionUpdate {
  switch (report.type) {
    case 'joined':
      return { change: step(session, { type: 'joined', at: new Date(report.at) }) };
    case 'dial': {
      const { dial_status: dialStatus, sip_call_id, error } = report;
      const change = step(session, { type: 'dialled', at: new Date(report.at), dialStatus });
      // A session that ended meanwhile keeps the reason it ended for.
      const reason = change === null || error === undefined ? {} : { dial_error: error };
      return { change, amendment: { set: { sip_call_id, ...reason } } };
    }
    case 'ended':
      return { change: step(session, { type: 'ended', at: new Date(report.at), reason: report.end_reason }) };
    case 'analysis':
      return session.analysis.job_id === report.job_id
        ? applyAnalysis(context, session, report.result)
        : { change: null };
    default:
      return { change: null };
  }
}

/**
 * The data a report adds to its session; data that would have to be encrypted is dropped once the session's
 * key has been destroyed.
 */
async function additionOf(
  { context, jobs }: Settlement,
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
      // It may only say what was stored.
      if (!sealer || report.items.length === 0) return {};
      return {
        push: {
          timeline: [await sealItems(context, sealer, { sessionId: session._id, epoch, seq }, report.items)],
        },
      };
    }
    case 'opt_out':
      // Added to the opt-out list before the report counts as stored; idempotent.
      await jobs.optedOut(session, report.by);
      return {};
    case 'turn':
      return { push: { turns: [report.latency] } };
    case 'silence':
      return { push: { silences: [report.silence] } };
    case 'overlap':
      return { push: { overlaps: [report.overlap] } };
    case 'line':
      return { push: { lines: [report.line] } };
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

/** Applies an analysis result: encrypted in the session and reported to the webhooks. */
export function applyAnalysis(
  context: Pick<Context, 'clock' | 'dataKeys'>,
  session: SessionHead,
  result: AnalysisResult,
): SessionUpdate {
  const at = now(context);
  const normalised = normaliseResult(result);
  const sealed = sealerOf(context, session)?.seal(JSON.stringify(normalised), 'analysis') ?? null;
  return {
    change: step(session, { type: 'analysis.finished', at, outcome: normalised.status, result: sealed }),
    amendment: { analysis: { ...normalised, finished_at: at.toISOString() } },
  };
}

/** Removes everything but the cause from a skipped or failed analysis. */
export function normaliseResult(result: AnalysisResult): AnalysisResult {
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
