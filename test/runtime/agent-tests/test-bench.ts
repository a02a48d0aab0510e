/**
 * Runs agent tests against the fake OpenAI server over the real protocol: the agent, the caller and the judge
 * are each scripted by a list of answers.
 */

import { type Clock, systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { type AgentTestJob, type AgentTestResult, testDefinition } from '#protocol/agent-test.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { McpTokens } from '#protocol/mcp-tokens.ts';
import { type AgentTestDeps, runAgentTest } from '#runtime/agent-tests/run-agent-test.ts';
import { createLanguageModel } from '#runtime/llm/create-language-model.ts';
import { type ChatScript, type OpenaiServer, say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { testPlan, WEB } from '../test-plan.ts';

/** The fake server and the functions that run tests against it. */
export interface TestBench {
  readonly server: OpenaiServer;
  /** Requests made in a role, oldest first: the text of all messages. */
  asked(role: Role): string[];
  run(test: Record<string, unknown>, over?: RunOptions): Promise<AgentTestResult>;
  close(): Promise<void>;
}

type Role = 'agent' | 'caller' | 'judge';
type Model = ReturnType<AgentTestDeps['modelFor']>;

/** Options of a run besides its test. */
interface RunOptions {
  readonly config?: Record<string, unknown>;
  readonly tools?: CallPlan['tools'];
  readonly toolServers?: CallPlan['tool_servers'];
  readonly channel?: CallPlan['channel'];
  readonly storedMocks?: AgentTestJob['stored_mocks'];
  readonly clock?: Clock;
  /** Wraps every model. */
  readonly wrap?: (model: Model) => Model;
}

/** Opens the bench. Each role's answers are used in order; the last one repeats. */
export async function openTestBench(
  scripts: Partial<Record<Role, readonly (ChatScript | string)[]>>,
): Promise<TestBench> {
  const asked: Record<Role, string[]> = { agent: [], caller: [], judge: [] };
  const server = await startOpenaiServer({
    chat: (body) => {
      const text = body.messages.map((message) => `${message.role}: ${String(message.content)}`).join('\n');
      const role = text.includes('You judge a test')
        ? 'judge'
        : text.includes('You play a person')
          ? 'caller'
          : 'agent';
      const list = scripts[role] ?? [];
      const script = list[Math.min(asked[role].push(text), list.length) - 1] ?? 'OK.';
      return typeof script === 'string' ? say(script) : script;
    },
  });
  const settings = readSettings({ OPENAI_BASE_URL: server.url });
  const logger = createLogger({ level: 'silent', name: 'test' });
  const egress = createEgressGuard({ allow: ['127.0.0.1'], clock: systemClock });
  return {
    server,
    asked: (role) => asked[role],
    run: (
      test,
      {
        config = {},
        tools = [],
        toolServers = [],
        channel = 'web_voice',
        storedMocks = [],
        clock = systemClock,
        wrap = (model: Model) => model,
      } = {},
    ) => {
      const sections = {
        llm: { model: 'openai/test' },
        prompt: { system_prompt: 'You take bookings.', first_message_mode: 'off' },
        ...config,
      };
      const plan = testPlan(sections, { ...WEB, tools, tool_servers: toolServers, channel });
      const job: AgentTestJob = {
        run_id: 'r1',
        plan,
        test: testDefinition.parse(test),
        stored_mocks: storedMocks,
      };
      const modelFor: AgentTestDeps['modelFor'] = (llm) =>
        wrap(
          createLanguageModel({
            settings,
            plan: { ...plan, config: { ...plan.config, llm } },
            egress,
            clock,
            logger,
          }),
        );
      return runAgentTest(job, { modelFor, egress, serverTokens: new McpTokens(clock), clock });
    },
    close: async () => {
      await server.close();
      await egress.close();
    },
  };
}
