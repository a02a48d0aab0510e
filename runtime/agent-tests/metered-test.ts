/** Runs an agent test and sums the list price of its model calls. */

import type { AgentTestJob, AgentTestResult } from '#protocol/agent-test.ts';
import type { LanguageModel } from '#runtime/llm/llm.ts';
import { meteredModel } from '../text-turns/watched-model.ts';
import { type AgentTestDeps, runAgentTest } from './run-agent-test.ts';

/** The result of a run with its price. */
export interface MeteredResult {
  readonly result: AgentTestResult;
  readonly costMicros: number;
}

/** Runs the test. Never rejects because of a model or a tool. */
export async function runMeteredTest(job: AgentTestJob, deps: AgentTestDeps): Promise<MeteredResult> {
  let costMicros = 0;
  const metered = (model: LanguageModel) =>
    meteredModel(model, (micros) => {
      costMicros += micros;
    });
  const result = await runAgentTest(job, { ...deps, modelFor: (llm) => metered(deps.modelFor(llm)) });
  return { result, costMicros };
}
