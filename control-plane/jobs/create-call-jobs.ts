/** Implements `CallJobs`: passes a call's events to agent tests, text sessions and batch calls. */
import type { CallJobs } from '../calls/settlement/call-jobs.ts';
import type { Context } from '../platform/context.ts';
import { applyTestReport, requeueLostRuns } from './agent-tests/test-runner.ts';
import { optOut } from './batch-calls/do-not-call.ts';
import { applyTextAnalysis, requeueLostTextAnalyses } from './text-sessions/text-analysis.ts';
import { applyTurnReport, requeueLostTurns } from './text-sessions/text-turn-runner.ts';

/** Creates the implementation for one control plane. */
export function createCallJobs(context: Context): CallJobs {
  return {
    testReport: (envelope, report) => applyTestReport(context, envelope, report),
    turnReport: (envelope, report) => applyTurnReport(context, envelope, report),
    textAnalysis: (envelope, result) => applyTextAnalysis(context, envelope, result),
    workerGone: async (instanceId, hungIn) => {
      await requeueLostRuns(context, instanceId, hungIn);
      await requeueLostTurns(context, instanceId, hungIn);
      await requeueLostTextAnalyses(context, instanceId, hungIn);
    },
    optedOut: (session, by) => optOut(context, session, by),
  };
}
