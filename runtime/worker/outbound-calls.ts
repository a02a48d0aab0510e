/**
 * Outbound jobs: the call is prepared while it rings, joined to the leg of the person who answers, and ended
 * when no one does.
 */

import { EgressRefused } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { DialStatus } from '#protocol/session-record.ts';
import { dialOutboundCall, type OutboundCall, type OutboundCallDeps } from '#telephony/outbound-call.ts';
import { InviteRefused } from '#telephony/signalling.ts';
import { dialLine } from '../calls/dial-line.ts';
import { reportDialog } from '../calls/dialog-report.ts';
import { isoNow } from '../calls/wall-time.ts';
import type { JobCalls } from './job-calls.ts';
import type { Job } from './job-table.ts';

/** Dependencies of an outbound job. */
export interface OutboundJobDeps extends OutboundCallDeps {
  readonly calls: Pick<JobCalls, 'start' | 'report' | 'reportEnd'>;
  readonly logger: Logger;
}

type Transport = Extract<CallPlan['transport'], { type: 'sip_outbound' }>;

/** Dials for a job; never rejects. A call that ends while it rings is cancelled. */
export async function dialJob(
  deps: OutboundJobDeps,
  job: Job,
  plan: CallPlan,
  transport: Transport,
): Promise<void> {
  const { calls, logger } = deps;
  try {
    // The greeting is synthesised while it rings.
    calls.start(job, plan);
  } catch (error) {
    logger.error({ err: error, sessionId: job.sessionId }, 'outbound call could not be started');
    reportDial(deps, job, 'failed', { error: 'The call could not be started: the worker’s log says why' });
    calls.reportEnd(job, 'dial_failed');
    return;
  }
  const over = new AbortController();
  job.call?.ended.catch(() => undefined).finally(() => over.abort());
  settle(deps, job, await dialOutboundCall(deps, requestOf(plan, transport), over.signal));
}

function requestOf(plan: CallPlan, transport: Transport) {
  const { to_uri, guard, from_number, headers, username, password, line, ring_seconds } = transport;
  return {
    toUri: to_uri,
    guard,
    fromNumber: from_number,
    line: dialLine(line),
    headers,
    credentials: username === null || password === null ? null : { username, password },
    recording: plan.record_audio ? { firstSegment: 0 } : null,
    ringMs: ring_seconds * 1000,
  };
}

function settle(deps: OutboundJobDeps, job: Job, result: OutboundCall): void {
  const { calls, logger } = deps;
  switch (result.outcome) {
    case 'answered':
      reportDial(deps, job, 'answered', { sipCallId: result.dialog.sipCallId });
      reportDialog(result, (dialog) => calls.report(job, { type: 'dialog', ...dialog }));
      job.call?.attach(result.leg, result);
      return;
    case 'cancelled':
      return;
    default:
      if (result.error instanceof EgressRefused)
        logger.warn(
          { reason: result.error.reason, sessionId: job.sessionId },
          'a host that must not be dialled (EGRESS_ALLOW)',
        );
      else
        logger.info(
          { err: result.error, sessionId: job.sessionId, dialStatus: result.outcome },
          'not answered',
        );
      reportDial(deps, job, result.outcome, { error: dialError(result.error) });
      job.call?.end('dial_failed');
  }
}

/** The cause of a failed dial, without addresses: they may be the operator's. Undefined after a timeout. */
function dialError(error: unknown): string | undefined {
  if (error === null) return undefined;
  if (error instanceof InviteRefused) return `The call was refused with SIP status ${error.status}`;
  return error instanceof EgressRefused
    ? 'The trunk’s host must not be dialled from here; the operator can admit it with EGRESS_ALLOW'
    : 'The call could not be placed: the worker’s log says why';
}

function reportDial(
  { calls, clock }: OutboundJobDeps,
  job: Job,
  dialStatus: DialStatus,
  { sipCallId = null, error }: { readonly sipCallId?: string | null; readonly error?: string | undefined },
): void {
  calls.report(job, {
    type: 'dial',
    dial_status: dialStatus,
    at: isoNow(clock),
    sip_call_id: sipCallId,
    error,
  });
}
