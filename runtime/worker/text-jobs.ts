/** Jobs without a caller: analyses of ended calls and agent tests. Both are text for a language model. */
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import type { Tracing } from '#config/tracing.ts';
import { type AgentTestJob, testError } from '#protocol/agent-test.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { AnalysisResult } from '#protocol/session-record.ts';
import type { AnalysisJob } from '#protocol/worker-link.ts';
import { type MeteredResult, runMeteredTest } from '../agent-tests/metered-test.ts';
import { analyse } from '../analysis/analysis.ts';
import { type AnalysisTrace, traceAnalysis } from '../calls/analysis-trace.ts';
import type { JobCalls } from './job-calls.ts';
import type { Job } from './job-table.ts';
import type { PlanEngines } from './plan-engines.ts';

/** The control plane abandons an analysis after two minutes. */
const ANALYSIS_MS = 110_000;

/** Dependencies of these jobs. */
export interface TextJobsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly egress: EgressGuard;
  readonly engines: Pick<PlanEngines, 'modelFor' | 'serverTokens'>;
  /** Null: tracing is off. */
  readonly tracing: Tracing | null;
  /** Results are reported here. */
  readonly calls: Pick<JobCalls, 'report' | 'free' | 'inNameOf'>;
}

/** Runs text jobs, reports their results and frees their slots. */
export class TextJobs {
  readonly #deps: TextJobsDeps;

  constructor(deps: TextJobsDeps) {
    this.#deps = deps;
  }

  /** Never rejects. */
  async runAnalysis(job: Job, analysis: AnalysisJob): Promise<void> {
    const { calls, clock, logger, tracing } = this.#deps;
    const trace = traceAnalysis(tracing, analysis.plan, { clock, logger });
    try {
      const result = await this.#analyse(analysis, job.sessionId, trace);
      calls.report(job, { type: 'analysis', job_id: analysis.job_id, result });
      trace.end(result.status === 'error' ? 'failed' : null);
    } catch (error) {
      logger.error({ err: error }, 'analysis report');
    } finally {
      calls.free(job);
    }
  }

  /** Never rejects. */
  async runAgentTest(job: Job, test: AgentTestJob): Promise<void> {
    const { calls, logger } = this.#deps;
    try {
      const { result, costMicros } = await this.#testAgent(test);
      calls.report(job, { type: 'agent_test', result, cost_micros: costMicros });
    } catch (error) {
      logger.error({ err: error }, 'agent test report');
    } finally {
      calls.free(job);
    }
  }

  async #analyse(analysis: AnalysisJob, sessionId: string, trace: AnalysisTrace): Promise<AnalysisResult> {
    const { calls, clock, engines, logger } = this.#deps;
    try {
      const within = calls.inNameOf(sessionId);
      const signal = AbortSignal.timeout(ANALYSIS_MS);
      const model = trace.model(engines.modelFor(analysis.plan));
      return await analyse(analysis, model, { clock, within, signal });
    } catch (error) {
      logger.warn({ err: error, sessionId }, 'analysis failed');
      const cause = error instanceof Error ? error.message : 'analysis failed';
      return { status: 'error', summary: null, data: [], criteria_results: [], error: cause };
    }
  }

  async #testAgent({ plan, ...test }: AgentTestJob): Promise<MeteredResult> {
    const { clock, egress, engines, logger } = this.#deps;
    const { serverTokens } = engines;
    const modelFor = (llm: CallPlan['config']['llm']) =>
      engines.modelFor({ ...plan, config: { ...plan.config, llm } });
    try {
      return await runMeteredTest({ plan, ...test }, { modelFor, egress, serverTokens, clock });
    } catch (error) {
      logger.warn({ err: error, runId: test.run_id }, 'agent test failed');
      return { result: testError('The test was interrupted by an internal error'), costMicros: 0 };
    }
  }
}
