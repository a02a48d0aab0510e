/** Implements `CallJobs`: passes a call's events to agent tests and batch calls. */
import type { CallJobs } from '../calls/settlement/call-jobs.ts';
import type { Context } from '../platform/context.ts';
import { applyTestReport, requeueLostRuns } from './agent-tests/test-runner.ts';
import { optOut } from './batch-calls/do-not-call.ts';

/** Creates the implementation for one control plane. */
export function createCallJobs(context: Context): CallJobs {
  return {
    testReport: (envelope, report) => applyTestReport(context, envelope, report),
    workerGone: (instanceId, hungIn) => requeueLostRuns(context, instanceId, hungIn),
    optedOut: (session, by) => optOut(context, session, by),
  };
}
