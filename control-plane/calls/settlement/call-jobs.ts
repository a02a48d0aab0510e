/**
 * Interface from calls to jobs (agent tests, batches). Implemented by `jobs/create-call-jobs.ts`, so that
 * settlement does not depend on jobs.
 */
import type { AnalysisResult } from '#protocol/session-record.ts';
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
  /** Result of a turn of a text session. */
  turnReport(
    envelope: ReportEnvelope,
    report: Extract<DurableReport, { type: 'text_turn' }>,
  ): Promise<ReportOutcome>;
  /** Result of the analysis of a text session; `stale` for any other id. */
  textAnalysis(envelope: ReportEnvelope, result: AnalysisResult): Promise<ReportOutcome>;
  /**
   * A worker and its runs and turns are gone; `hungIn` is the run, turn or session that had blocked its event
   * loop when it was killed.
   */
  workerGone(instanceId: string, hungIn: string | null): Promise<void>;
  /** The called person has asked for no further calls. */
  optedOut(
    session: Pick<SessionDocument, '_id' | 'team_id' | 'caller_number'>,
    by: 'voice' | 'key',
  ): Promise<void>;
}
