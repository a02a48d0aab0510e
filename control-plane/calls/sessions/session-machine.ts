/**
 * The life cycle of a session as a pure function: status and event determine the change, the charge and the
 * webhook events. Only this function changes a session's status. The caller stores the change with a
 * compare-and-set on status, epoch and last_seq.
 */

import { perMinute } from '#base/money.ts';
import type { AnalysisResult, DialStatus, EndReason } from '#protocol/session-record.ts';
import type {
  OutboxEvent,
  SessionBilling,
  SessionDocument,
  SessionWorker,
} from '../../platform/store/models/session-model.ts';
import { isLive } from '../../platform/store/session-status.ts';
import { type Loss, withLoss } from '../../platform/store/worker-losses.ts';

/** Session fields the machine reads. */
export type SessionFacts = Pick<
  SessionDocument,
  | 'status'
  | 'status_at'
  | 'direction'
  | 'is_preview'
  | 'dial_status'
  | 'started_at'
  | 'billing'
  | 'worker'
  | 'epoch'
  | 'call_worker'
  | 'analysis'
>;

/** The worker that has accepted a session, and the epoch of its reports. */
export interface WorkerAssignment {
  readonly worker: SessionWorker;
  readonly epoch: number;
}

/** A fact about a session; names are in the past tense. */
export type SessionEvent =
  /**
   * The first minute's charge has been posted, or there is nothing to charge; a worker may already have
   * accepted the session.
   */
  | { readonly type: 'hold.posted'; readonly at: Date; readonly assigned?: WorkerAssignment }
  /** An unfinished creation was swept; `held` is the amount of its hold, 0 if none was posted. */
  | { readonly type: 'hold.voided'; readonly at: Date; readonly held: number }
  /** No worker accepted the session or none could be reached; the client received 503 or 502. */
  | { readonly type: 'creation.refused'; readonly at: Date }
  | { readonly type: 'joined'; readonly at: Date }
  | { readonly type: 'link.lost'; readonly at: Date }
  | { readonly type: 'link.back'; readonly at: Date }
  /** It has been `unknown` since then, without interruption, and is given up. */
  | { readonly type: 'unknown.expired'; readonly since: Date; readonly at: Date }
  /** Failover: another worker accepted it after the first one died, during the call or before it. */
  | { readonly type: 'failed_over'; readonly at: Date; readonly successor: WorkerAssignment }
  | { readonly type: 'dialled'; readonly at: Date; readonly dialStatus: DialStatus }
  | { readonly type: 'ended'; readonly at: Date; readonly reason: EndReason }
  /** Too many workers have died with this session, so it is not placed again, whether joined or not. */
  | { readonly type: 'given_up'; readonly at: Date }
  | { readonly type: 'settled'; readonly at: Date }
  /** A re-run of the analysis was requested. */
  | { readonly type: 'analysis.requested'; readonly at: Date }
  /** A worker has accepted the analysis; its reports carry this epoch. */
  | {
      readonly type: 'analysis.started';
      readonly at: Date;
      readonly worker: SessionWorker;
      readonly epoch: number;
      readonly jobId: string;
    }
  /** The analysis worker is gone or has been silent for too long. */
  | { readonly type: 'analysis.lost'; readonly at: Date; readonly loss: Loss }
  /** `result` is encrypted. */
  | {
      readonly type: 'analysis.finished';
      readonly at: Date;
      readonly outcome: AnalysisResult['status'];
      readonly result: Buffer | null;
    };

/** The effect of an event on a session. */
export interface SessionChange {
  readonly set: Partial<SessionDocument>;
  /** Events for the outbox, in order. */
  readonly events: readonly OutboxEvent['event'][];
}

/** End reasons of sessions that were never joined; all others imply that the caller had joined. */
const NEVER_JOINED: ReadonlySet<EndReason> = new Set(['room_join_timeout', 'cancelled', 'dial_failed']);
/** Reasons for a missed join deadline, ignored if the session has been joined in the meantime. */
const JOIN_DEADLINE: ReadonlySet<EndReason> = new Set(['room_join_timeout', 'agent_join_timeout']);

/** Computes the change an event makes, or null when it changes nothing in this state. */
export function step(session: SessionFacts, event: SessionEvent): SessionChange | null {
  const { at } = event;
  const { status, billing, analysis } = session;
  switch (event.type) {
    case 'hold.posted':
      return changeIf(status === 'creating', {
        status: 'pending',
        status_at: at,
        billing: heldBilling(billing, at),
        ...(event.assigned && { ...event.assigned, last_seq: 0 }),
      });
    case 'hold.voided':
      return changeIf(status === 'creating', giveUp(session, at, event.held));
    case 'creation.refused':
      return changeIf(status === 'pending', giveUp(session, at, billing.hold));
    case 'joined':
      return changeIf(status === 'pending', { status: 'active', status_at: at, started_at: at });
    case 'link.lost':
      return changeIf(status === 'active', { status: 'unknown', status_at: at });
    case 'link.back':
      return changeIf(status === 'unknown', { status: 'active', status_at: at });
    case 'unknown.expired':
      return status === 'unknown' && session.status_at.getTime() === event.since.getTime()
        ? onEnded(session, { type: 'ended', at, reason: 'heartbeat_timeout' })
        : null;
    case 'failed_over':
      return changeIf(isLive(status) && event.successor.epoch > session.epoch, {
        ...event.successor,
        ...(status === 'unknown' ? { status: 'active', status_at: at } : {}),
        last_seq: 0,
      });
    case 'dialled':
      return onDialled(session, event);
    case 'ended':
      return onEnded(session, event);
    case 'given_up':
      return endAfterDeaths(session, at);
    case 'settled':
      return changeIf(billing.state === 'settle_due', { billing: { ...billing, state: 'settled', at } });
    case 'analysis.requested':
      return changeIf(isRerunnable(analysis.state), {
        analysis: { ...analysis, state: 'queued', at, losses: {} },
      });
    case 'analysis.started':
      return onAnalysisStarted(session, event);
    case 'analysis.lost':
      return changeIf(analysis.state === 'running', {
        analysis: { ...analysis, state: 'queued', at, losses: withLoss(analysis.losses ?? {}, event.loss) },
      });
    case 'analysis.finished':
      return onAnalysisFinished(session, event);
    default:
      return event satisfies never;
  }
}

/** A change without events if the condition holds, otherwise null. */
function changeIf(condition: boolean, set: Partial<SessionDocument>): SessionChange | null {
  return condition ? { set, events: [] } : null;
}

function isRerunnable(state: SessionDocument['analysis']['state']): boolean {
  return state === 'skipped' || state === 'error';
}

function heldBilling(billing: SessionBilling, at: Date): SessionBilling {
  return billing.state === 'free' ? billing : { ...billing, state: 'held', at };
}

/** An abandoned creation: fully refunded and not listed. */
function giveUp(session: SessionFacts, at: Date, held: number): Partial<SessionDocument> {
  return {
    status: 'failed',
    status_at: at,
    end_reason: 'cancelled',
    is_listed: false,
    ended_at: at,
    billing: dueBilling(session.billing, at, held),
  };
}

/**
 * A dial resolves once; later results are ignored. Ringing is free: the call begins when it is answered. An
 * unanswered dial is reported when the session ends, so that its only event includes the end reason.
 */
function onDialled(
  session: SessionFacts,
  { at, dialStatus }: Extract<SessionEvent, { type: 'dialled' }>,
): SessionChange | null {
  if (session.direction !== 'outbound' || session.dial_status !== null || !isLive(session.status))
    return null;
  const begins = dialStatus === 'answered' && session.status === 'pending';
  return {
    set: {
      ...dialFields(dialStatus),
      ...(begins ? { status: 'active', status_at: at, started_at: at } : {}),
    },
    events: dialStatus === 'answered' ? webhooksFor(session, ['phone_call.dial_finished']) : [],
  };
}

function dialFields(dialStatus: DialStatus): Partial<SessionDocument> {
  return { dial_status: dialStatus, answered_by: dialStatus === 'answered' ? 'unknown' : null };
}

function onEnded(
  session: SessionFacts,
  event: Extract<SessionEvent, { type: 'ended' }>,
): SessionChange | null {
  if (!isLive(session.status)) return null;
  if (session.started_at !== null && JOIN_DEADLINE.has(event.reason)) return null;
  return session.started_at === null && event.reason !== 'agent_join_timeout'
    ? endUnjoined(session, event.at, NEVER_JOINED.has(event.reason) ? event.reason : 'cancelled')
    : endJoined(session, event);
}

function endAfterDeaths(session: SessionFacts, at: Date): SessionChange | null {
  if (!isLive(session.status)) return null;
  const event = { at, reason: 'internal_error' } as const;
  return session.started_at === null ? endUnjoined(session, at, event.reason) : endJoined(session, event);
}

function endUnjoined(session: SessionFacts, at: Date, reason: EndReason): SessionChange {
  const isUnresolvedDial = session.direction === 'outbound' && session.dial_status === null;
  return {
    set: {
      status: 'failed',
      status_at: at,
      end_reason: reason,
      ended_at: at,
      billing: dueBilling(session.billing, at, session.billing.hold),
      ...(isUnresolvedDial
        ? dialFields(reason === 'dial_failed' || reason === 'internal_error' ? 'failed' : 'no_answer')
        : {}),
    },
    events:
      session.direction === 'outbound' && session.dial_status !== 'answered'
        ? webhooksFor(session, ['phone_call.dial_finished'])
        : [],
  };
}

/** A joined session: charged by the second, reported to webhooks, queued for analysis. */
function endJoined(
  session: SessionFacts,
  event: { readonly at: Date; readonly reason: EndReason },
): SessionChange {
  const startedAt = session.started_at ?? event.at;
  const endedAt = new Date(Math.max(event.at.getTime(), startedAt.getTime()));
  const seconds = Math.ceil((endedAt.getTime() - startedAt.getTime()) / 1000);
  const cost = perMinute(session.billing.price_per_minute, seconds);
  return {
    set: {
      status: 'completed',
      status_at: event.at,
      end_reason: event.reason,
      started_at: startedAt,
      ended_at: endedAt,
      duration_seconds: seconds,
      billing: dueBilling(session.billing, event.at, session.billing.hold - cost),
      analysis: { ...session.analysis, state: 'queued', at: event.at },
    },
    events: webhooksFor(session, ['call.ended']),
  };
}

function onAnalysisStarted(
  session: SessionFacts,
  event: Extract<SessionEvent, { type: 'analysis.started' }>,
): SessionChange | null {
  const { at, worker, epoch, jobId } = event;
  const { analysis } = session;
  const callWorker = session.worker && { instance_id: session.worker.instance_id, epoch: session.epoch };
  return changeIf(analysis.state === 'queued' && epoch > session.epoch, {
    worker,
    epoch,
    ...(callWorker && !session.call_worker && { call_worker: callWorker }),
    last_seq: 0,
    analysis: { ...analysis, state: 'running', at, job_id: jobId },
  });
}

function onAnalysisFinished(
  session: SessionFacts,
  event: Extract<SessionEvent, { type: 'analysis.finished' }>,
): SessionChange | null {
  if (session.analysis.state !== 'queued' && session.analysis.state !== 'running') return null;
  const { at, outcome, result } = event;
  return {
    set: {
      analysis: {
        ...session.analysis,
        state: outcome,
        at,
        finished_at: at,
        result,
        runs: session.analysis.runs + 1,
      },
    },
    events: webhooksFor(session, ['call.analyzed']),
  };
}

function dueBilling(billing: SessionBilling, at: Date, due: number): SessionBilling {
  return billing.state === 'free' ? billing : { ...billing, state: 'settle_due', at, due };
}

/** Previews never trigger webhooks. */
function webhooksFor(
  session: SessionFacts,
  events: readonly OutboxEvent['event'][],
): readonly OutboxEvent['event'][] {
  return session.is_preview ? [] : events;
}
