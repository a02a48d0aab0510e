/**
 * Inbound INVITEs that admission routed here: matched to the job this worker accepted, answered when its plan
 * arrives, and joined to its call.
 */
import type { Logger } from '#base/log.ts';
import { answerInboundCall, type InboundCallDeps } from '#telephony/inbound-call.ts';
import type { OutboundCallDeps } from '#telephony/outbound-call.ts';
import type { IncomingInvite, Signalling } from '#telephony/signalling.ts';
import { reportDialog } from '../calls/dialog-report.ts';
import type { JobCalls } from './job-calls.ts';
import type { Job, JobTable } from './job-table.ts';

/** Phone calls of a worker: its signalling, its media, and the addresses it offers. */
export interface PhoneDeps extends InboundCallDeps, OutboundCallDeps {
  readonly signalling: Signalling;
  readonly logger: Logger;
}

/** Dependencies for answering an INVITE. */
export interface InviteDeps extends InboundCallDeps {
  readonly calls: Pick<JobCalls, 'start' | 'report' | 'reportEnd'>;
  readonly jobs: Pick<JobTable, 'takeSipCall'>;
  readonly logger: Logger;
}

/** Answers one INVITE; never rejects. */
export function takeInvite(deps: InviteDeps, invite: IncomingInvite): void {
  const { calls, jobs, logger } = deps;
  const job = jobs.takeSipCall(invite.sipCallId);
  if (!job) {
    // Its job was withdrawn, belongs to another worker, or has its INVITE already.
    invite.refuse(503, { 'Retry-After': '5' });
    return;
  }
  answer(deps, job, invite).catch((error: unknown) => {
    logger.error({ err: error, sessionId: job.sessionId }, 'phone call could not be answered');
    if (job.call) job.call.end('internal_error');
    else calls.reportEnd(job, 'internal_error');
  });
}

async function answer(deps: InviteDeps, job: Job, invite: IncomingInvite): Promise<void> {
  const { calls } = deps;
  let failure: unknown = null;
  const ready = job.plan.then((plan) => {
    try {
      // The greeting is synthesised while the answer is on its way.
      calls.start(job, plan);
    } catch (error) {
      failure = error;
      throw error;
    }
    return {
      recordAudio: plan.record_audio,
      isTenants: plan.transport.type === 'sip_inbound' && plan.transport.is_tenants,
    };
  });
  const result = await answerInboundCall(deps, invite, ready);
  if (failure !== null) throw failure;
  if (result.outcome === 'answered') {
    reportDialog(result, (dialog) => calls.report(job, { type: 'dialog', ...dialog }));
    if (job.call) job.call.attach(result.leg, result);
    else result.leg.send({ do: 'close' });
  } else if (job.call) job.call.end('cancelled');
  else calls.reportEnd(job, 'cancelled');
}
