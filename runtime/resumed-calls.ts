/** A phone call taken over from a worker that died: its dialog gets this worker's media, and the conversation goes on. */
import type { CallPlan } from '#config/call-plan.ts';
import type { Logger } from '#config/log.ts';
import type { PhoneHandover } from '#config/worker-link.ts';
import { type ResumedCallDeps, resumeSipCall } from '#telephony/resumed-call.ts';
import { dialogFacts, dialogReport } from './dialog-report.ts';
import type { Job } from './job-table.ts';
import type { Worker } from './worker.ts';

/** What taking a call over needs. */
export interface ResumedJobDeps extends ResumedCallDeps {
  readonly worker: Worker;
  readonly logger: Logger;
}

/** Goes on with the call of a job; never rejects. A call that cannot be gone on with ended when its worker was lost. */
export async function resumeJob(deps: ResumedJobDeps, job: Job, plan: CallPlan, handover: PhoneHandover): Promise<void> {
  const { worker, logger } = deps;
  const result = await resumeSipCall(deps, dialogFacts(handover.dialog), { recording: plan.record_audio ? { firstSegment: 0 } : null });
  if (result.outcome !== 'answered') {
    logger.warn({ err: result.error, sessionId: job.sessionId, outcome: result.outcome }, 'call not taken over');
    worker.reportEnd(job, result.outcome === 'gone' ? 'user_hangup' : 'heartbeat_timeout', handover.lost_at);
    return;
  }
  try {
    worker.report(job, { type: 'dialog', ...dialogReport(result.dialog) });
    worker.startCall(job, plan, handover);
    job.call?.attach(result.leg, result);
  } catch (error) {
    logger.error({ err: error, sessionId: job.sessionId }, 'call could not be gone on with');
    result.leg.send({ do: 'close' });
    worker.reportEnd(job, 'internal_error');
  }
}
