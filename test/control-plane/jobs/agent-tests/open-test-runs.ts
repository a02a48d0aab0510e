/** Runs of agent tests: a tenant with agents and tests, and a runner driven by hand. */
import { startTestRunner } from '#control-plane/jobs/agent-tests/test-runner.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import { type AgentTestResult, testError } from '#protocol/agent-test.ts';
import type { TestResponse, TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

/** The result of a passed run. */
export const PASSED: AgentTestResult = {
  ...testError(''),
  status: 'passed',
  error: null,
  agent_replies: 1,
  agent_reply: 'Hello!',
  judge_reasoning: 'Polite.',
  latency_ms: 12,
};

/** The API with helpers for test runs of one tenant. */
export interface TestRuns extends TestCalls {
  /** The account that makes the requests. */
  user: TestUser;
  /** The runner; a test that replaces it closes the old one. */
  runner: BackgroundLoop;
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of the answer
  get(url: string): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of the answer
  runsOf(batchId: string): Promise<any>;
  createAgent(config?: Record<string, unknown>): Promise<string>;
  createTest(agentId: string, changes?: Record<string, unknown>): Promise<string>;
  /** Runs the tests of an agent, and waits until the runner has placed their jobs. */
  run(agentId: string, body?: Record<string, unknown>): Promise<TestResponse>;
  /** Reports the result of a placed job, the newest by default. */
  finish(result?: AgentTestResult, at?: number): Promise<string>;
}

/** Opens the API for test runs. */
export async function openTestRuns(environment: Record<string, string> = {}): Promise<TestRuns> {
  const api = await openTestCalls(environment);
  const get = async (url: string) => (await api.request('GET', url, { key: runs.user.key })).body;
  const runs: TestRuns = {
    ...api,
    user: await api.createUser(),
    runner: startTestRunner(api.context),
    get,
    runsOf: async (batchId) => (await get(`/v1/agent/test-runs?batch_id=${batchId}`)).test_runs,
    createAgent: async (config = {}) =>
      (await api.request('POST', '/v1/agent/agents', { key: runs.user.key, body: { name: 'Ada', config } }))
        .body.agent_id,
    createTest: async (agentId, changes = {}) => {
      const body = {
        name: 'Greets',
        test_type: 'next_reply',
        conversation: [{ role: 'user', text: 'Hi' }],
        expectation: 'A greeting',
        agent_ids: [agentId],
        ...changes,
      };
      const { body: test, text } = await api.request('POST', '/v1/agent/tests', { key: runs.user.key, body });
      if (!test.test_id) throw new Error(text);
      return test.test_id;
    },
    run: async (agentId, body) => {
      const response = await api.request('POST', `/v1/agent/agents/${agentId}/tests/run`, {
        key: runs.user.key,
        ...(body ? { body } : {}),
      });
      await runs.runner.idle();
      return response;
    },
    finish: async (result = PASSED, at = -1) => {
      const { key } = api.dispatch.tests.at(at) ?? { key: { sessionId: '', epoch: 0 } };
      const report = { type: 'agent_test' as const, result };
      const envelope = { session_id: key.sessionId, epoch: key.epoch, seq: 1, report };
      const { outcome } = await api.sink.apply([envelope], 'worker-1');
      await runs.runner.idle();
      return outcome;
    },
    close: async () => {
      await runs.runner.close();
      await api.close();
    },
  };
  return runs;
}
