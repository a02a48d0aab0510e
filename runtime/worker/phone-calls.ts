/**
 * An INVITE that admission routed here: matched to the job this worker accepted, answered when its plan has
 * come, and joined to its call.
 */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { MediaHost } from '#media/leg/media-host.ts';
import { answerInboundCall, type InboundCallDeps } from '#telephony/inbound-call.ts';
import type { IncomingInvite } from '#telephony/signalling.ts';
import { dialogReport } from '../calls/dialog-report.ts';
import type { Job } from './job-table.ts';
import type { Worker } from './worker.ts';

/** What taking an INVITE needs. */
export interface PhoneCallDeps extends InboundCallDeps {
  readonly worker: Worker;
  readonly invite: IncomingInvite;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly media: MediaHost;
}

/** Takes one INVITE; never rejects. */
export function takeInvite(deps: PhoneCallDeps): void {
  const { worker, invite, logger } = deps;
  const job = worker.takeInvite(invite.sipCallId);
  if (!job) {
    // Its job was withdrawn, was never ours, or has its INVITE already.
    invite.refuse(503, { 'Retry-After': '5' });
    return;
  }
  answer(deps, job).catch((error: unknown) => {
    logger.error({ err: error, sessionId: job.sessionId }, 'phone call could not be answered');
    if (job.call) job.call.end('internal_error');
    else worker.reportEnd(job, 'internal_error');
  });
}

async function answer(deps: PhoneCallDeps, job: Job): Promise<void> {
  const { worker, invite } = deps;
  let failure: unknown = null;
  const ready = job.plan.then((plan) => {
    try {
      // The greeting is made while the answer is on its way.
      worker.startCall(job, plan);
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
    worker.report(job, { type: 'dialog', ...dialogReport(result.dialog) });
    if (job.call) job.call.attach(result.leg, result);
    else result.leg.send({ do: 'close' });
  } else if (job.call) job.call.end('cancelled');
  else worker.reportEnd(job, 'cancelled');
}
