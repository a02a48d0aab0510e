/** Runs an agent test and sums the list price of its model calls. */

import { costOf } from '#config/language-models.ts';
import type { AgentTestJob, AgentTestResult } from '#protocol/agent-test.ts';
import type { LanguageModel } from '#runtime/llm/llm.ts';
import { type AgentTestDeps, runAgentTest } from './run-agent-test.ts';

/** The result of a run with its price. */
export interface MeteredResult {
  readonly result: AgentTestResult;
  readonly costMicros: number;
}

/** Runs the test. Never rejects because of a model or a tool. */
export async function runMeteredTest(job: AgentTestJob, deps: AgentTestDeps): Promise<MeteredResult> {
  let costMicros = 0;
  const metered = (model: LanguageModel): LanguageModel => ({
    id: model.id,
    isCustom: model.isCustom,
    async *stream(request) {
      for await (const delta of model.stream(request)) {
        if (delta.type === 'finish') costMicros += costOf(delta.modelId ?? model.id, delta.usage);
        yield delta;
      }
    },
  });
  const result = await runAgentTest(job, { ...deps, modelFor: (llm) => metered(deps.modelFor(llm)) });
  return { result, costMicros };
}
