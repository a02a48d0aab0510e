/**
 * What calls hand on to the jobs that wait for it; implemented by `jobs/of-calls.ts`, as settling knows no
 * job.
 */
import type { DurableReport, ReportEnvelope } from '#protocol/worker-link.ts';
import type { ReportOutcome } from '../../platform/report-sink.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';

/** Takes what concerns jobs. Each can be repeated. */
export interface JobsOfCalls {
  /** The result of a run of an agent test. */
  testReport(
    envelope: ReportEnvelope,
    report: Extract<DurableReport, { type: 'agent_test' }>,
  ): Promise<ReportOutcome>;
  /** A worker is gone with its runs; `stoodIn` is the run or session it was killed in for standing still. */
  workerGone(instanceId: string, stoodIn: string | null): Promise<void>;
  /** The person called by this session wants no more calls. */
  optedOut(
    session: Pick<SessionDocument, '_id' | 'team_id' | 'caller_number'>,
    by: 'voice' | 'key',
  ): Promise<void>;
}
