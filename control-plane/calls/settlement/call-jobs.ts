/**
 * Interface from calls to jobs (agent tests, batches). Implemented by `jobs/create-call-jobs.ts`, so that
 * settlement does not depend on jobs.
 */
import type { DurableReport, ReportEnvelope } from '#protocol/worker-link.ts';
import type { ReportOutcome } from '../../platform/report-sink.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';

/** Receives events that concern jobs. All methods are idempotent. */
export interface CallJobs {
  /** Result of an agent test run. */
  testReport(
    envelope: ReportEnvelope,
    report: Extract<DurableReport, { type: 'agent_test' }>,
  ): Promise<ReportOutcome>;
  /**
   * A worker and its runs are gone; `hungIn` is the run or session that had blocked its event loop when it
   * was killed.
   */
  workerGone(instanceId: string, hungIn: string | null): Promise<void>;
  /** The called person has asked for no further calls. */
  optedOut(
    session: Pick<SessionDocument, '_id' | 'team_id' | 'caller_number'>,
    by: 'voice' | 'key',
  ): Promise<void>;
}
