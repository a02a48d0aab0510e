/** Passes reports of calls to the jobs that handle them. */
import type { JobsOfCalls } from '../calls/settlement/jobs.ts';
import type { Context } from '../platform/context.ts';
import { applyTestReport, requeueLostRuns } from './agent-tests/test-runner.ts';
import { optOut } from './batch-calls/do-not-call.ts';

/** Creates it with a control plane's context. */
export function jobsOfCalls(context: Context): JobsOfCalls {
  return {
    testReport: (envelope, report) => applyTestReport(context, envelope, report),
    workerGone: (instanceId, stoodIn) => requeueLostRuns(context, instanceId, stoodIn),
    optedOut: (session, by) => optOut(context, session, by),
  };
}
