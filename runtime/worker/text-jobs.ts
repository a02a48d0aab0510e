/** Jobs without audio: analyses of ended calls, agent tests and turns of text sessions. */
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import type { Tracing } from '#config/tracing.ts';
import { type AgentTestJob, testError } from '#protocol/agent-test.ts';
import type { AnalysisJob } from '#protocol/analysis-job.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { AnalysisResult } from '#protocol/session-record.ts';
import type { TextTurnJob, TextTurnResult } from '#protocol/text-turn.ts';
import { type MeteredResult, runMeteredTest } from '../agent-tests/metered-test.ts';
import { analyse } from '../analysis/analysis.ts';
import { type AnalysisTrace, traceAnalysis } from '../calls/analysis-trace.ts';
import type { ControlPlaneClient } from '../link/control-plane-client.ts';
import { runTextTurn } from '../text-turns/run-text-turn.ts';
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
  readonly engines: Pick<PlanEngines, 'modelFor' | 'knowledgeFor' | 'serverTokens'>;
  /** Null: tracing is off. */
  readonly tracing: Tracing | null;
  /** Live events are sent here. */
  readonly client: Pick<ControlPlaneClient, 'send'>;
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

  /** Never rejects. */
  async runTextTurn(job: Job, turn: TextTurnJob): Promise<void> {
    const { calls, logger } = this.#deps;
    try {
      const result = await this.#answer(job, turn);
      calls.report(job, { type: 'text_turn', result });
    } catch (error) {
      logger.error({ err: error }, 'text turn report');
    } finally {
      calls.free(job);
    }
  }

  async #answer(job: Job, turn: TextTurnJob): Promise<TextTurnResult> {
    const { client, clock, egress, engines, logger } = this.#deps;
    const session = { session_id: job.sessionId, epoch: job.epoch };
    try {
      return await runTextTurn(turn, {
        modelFor: (plan) => engines.modelFor(plan),
        openKnowledge: (plan, budgetMs) => engines.knowledgeFor(plan, budgetMs),
        egress,
        serverTokens: engines.serverTokens,
        clock,
        logger,
        onEvent: (event) => client.send({ type: 'live', ...session, event }),
      });
    } catch (error) {
      logger.warn({ err: error, turnId: turn.turn_id }, 'text turn failed');
      const cause = 'The turn was interrupted by an internal error';
      return { reply: '', items: [], has_ended: false, error: cause, usage: [] };
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
