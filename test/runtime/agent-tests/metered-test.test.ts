import { expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { costOf } from '#config/language-models.ts';
import { testDefinition } from '#protocol/agent-test.ts';
import { McpTokens } from '#protocol/mcp-tokens.ts';
import { runMeteredTest } from '#runtime/agent-tests/metered-test.ts';
import type { LanguageModel } from '#runtime/llm/llm.ts';
import { testPlan } from '../test-plan.ts';

it('security 16: a run reports its model cost at list price, and assumes a high price if unknown', async () => {
  const model: LanguageModel = {
    id: 'openai/gpt-4.1',
    isCustom: false,
    async *stream() {
      yield { type: 'text', text: 'Hello!' };
      yield { type: 'finish', usage: { inputTokens: 1_000, outputTokens: 100, cachedInputTokens: null } };
    },
  };
  const test = testDefinition.parse({
    test_type: 'next_reply',
    conversation: [{ role: 'user', text: 'Hi' }],
    expectation: 'A greeting',
  });
  const job = {
    run_id: 'r',
    plan: testPlan({ llm: { model: model.id } }),
    test,
    stored_mocks: [],
  };
  const egress = createEgressGuard({ allow: [], clock: systemClock });
  let asked = 0;
  const modelFor = () => ({
    ...model,
    stream: (request: Parameters<LanguageModel['stream']>[0]) => {
      asked += 1;
      return model.stream(request);
    },
  });
  const { costMicros } = await runMeteredTest(job, {
    modelFor,
    egress,
    serverTokens: new McpTokens(systemClock),
    clock: systemClock,
  });
  await egress.close();
  expect(asked).toBeGreaterThan(1);
  expect(costMicros).toBe(asked * 2_800);
  expect(costOf('openai/of-tomorrow', { inputTokens: 1_000_000, outputTokens: 1_000_000 })).toBe(30_000_000);
  expect(costOf('local/demo', { inputTokens: null, outputTokens: 50 })).toBe(0);
});
