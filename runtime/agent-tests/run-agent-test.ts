/**
 * Runs one agent test as a text conversation. A run that cannot be judged is an `error` with its cause; a
 * verdict is never invented.
 */

import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { AgentConfig } from '#config/agent-config.ts';
import { DEMO_MODEL_ID } from '#config/language-models.ts';
import {
  type AgentTestJob,
  type AgentTestResult,
  type TestDefinition,
  testError,
} from '#protocol/agent-test.ts';
import { isHangUpCall } from '#protocol/hang-up-call.ts';
import type { McpTokens } from '#protocol/mcp-tokens.ts';
import { type LanguageModel, ModelError, type ToolCall } from '#runtime/llm/llm.ts';
import type { TextContext } from '../text-turns/ask-model.ts';
import { type AgentReply, createTextAgent, type TextAgent } from '../text-turns/text-agent.ts';
import { verdictOf } from './assertions.ts';
import { judgeReply } from './judge.ts';
import { asText, parsedArguments } from './patterns.ts';
import { simulate } from './simulation.ts';
import { createTestTools, type TestTools } from './test-tools.ts';

/** Longest run. The control plane gives up two minutes later. */
const RUN_MS = 8 * 60_000;

/** Dependencies of a test run. */
export interface AgentTestDeps {
  /** Creates a model: the agent's own, which also judges, or the one that plays the caller. */
  modelFor(llm: AgentConfig['llm']): LanguageModel;
  readonly egress: EgressGuard;
  readonly serverTokens: McpTokens;
  readonly clock: Clock;
}

class TestTimeout extends Error {}

/** Runs the test. Never rejects because of a model or a tool. */
export async function runAgentTest(job: AgentTestJob, deps: AgentTestDeps): Promise<AgentTestResult> {
  const model = deps.modelFor(job.plan.config.llm);
  const obstacle = obstacleOf(job.test, model);
  if (obstacle !== null) return testError(obstacle);
  const end = new AbortController();
  const timer = deps.clock.after(RUN_MS, () => end.abort(new TestTimeout()));
  const context: TextContext = { plan: job.plan, clock: deps.clock, signal: end.signal };
  const tools = createTestTools(job, deps, context);
  try {
    const agent = createTextAgent(model, tools, context);
    const { simulation, test_type } = job.test;
    if (test_type === 'tool') return await testToolChoice(job.test, { agent, tools });
    if (test_type === 'next_reply')
      return await testNextReply(job.test, { agent, tools, judge: model }, context);
    if (simulation === null) return testError('The test has no simulation');
    const user =
      simulation.simulated_user_model === null
        ? model
        : deps.modelFor({ model: simulation.simulated_user_model, custom: null });
    if (user.id === DEMO_MODEL_ID) return testError(cannotJudge('play a caller'));
    return await simulate({ test: job.test, simulation, agent, tools, judge: model, user }, context);
  } catch (error) {
    if (error instanceof TestTimeout)
      return testError(`The test took longer than ${RUN_MS / 60_000} minutes`);
    if (error instanceof ModelError) return testError(error.message);
    throw error;
  } finally {
    timer.cancel();
    tools.close();
  }
}

function obstacleOf(test: TestDefinition, model: LanguageModel): string | null {
  if (model.isCustom) return 'Agent tests are not available with a custom language model';
  return model.id === DEMO_MODEL_ID && test.test_type !== 'tool' ? cannotJudge('judge a conversation') : null;
}

function cannotJudge(what: string): string {
  return `${DEMO_MODEL_ID} cannot ${what}: configure a language model for the agent (GET /v1/agent/models)`;
}

async function testNextReply(
  test: TestDefinition,
  {
    agent,
    tools,
    judge,
  }: { readonly agent: TextAgent; readonly tools: TestTools; readonly judge: LanguageModel },
  context: TextContext,
): Promise<AgentTestResult> {
  agent.remember(test.conversation);
  const reply = await agent.reply();
  const { result, reasoning } = await judgeReply(
    judge,
    { test, reply: reply.text, calls: tools.shown(tools.calls) },
    context,
  );
  return {
    ...settled(reply, tools),
    ...verdictOf({ assertions: [], conditions: [{ result }], gaps: tools.gaps.length }),
    judge_reasoning: reasoning,
  };
}

async function testToolChoice(
  test: TestDefinition,
  { agent, tools }: { readonly agent: TextAgent; readonly tools: TestTools },
): Promise<AgentTestResult> {
  const wanted = test.referenced_tool;
  const isWanted = (call: ToolCall) =>
    wanted !== null &&
    (tools.isNamed(call.toolName, wanted.id) ||
      (wanted.type === 'integration' && isHangUpCall(call.toolName)));
  agent.remember(test.conversation);
  const reply = await agent.reply({
    until: (calls) => (wanted === null ? calls.length > 0 : calls.some(isWanted)),
  });
  const mustCall = wanted !== null && !test.verify_absence;
  const found = reply.calls.filter(wanted === null ? () => true : isWanted);
  const passed = mustCall ? found.some((call) => hasParameters(test, call)) : found.length === 0;
  const called =
    reply.calls.length === 0
      ? 'No tool was called'
      : `Called: ${reply.calls.map((call) => `${call.toolName} ${call.input}`).join('; ')}`;
  return {
    ...settled(reply, tools),
    ...verdictOf({ assertions: [{ passed }], conditions: [], gaps: tools.gaps.length }),
    judge_reasoning: called.slice(0, 4_000),
  };
}

function hasParameters(test: TestDefinition, call: ToolCall): boolean {
  const given = parsedArguments(call.input);
  return test.tool_parameters.every((parameter) =>
    isSame(parameter, Object.hasOwn(given, parameter.name) ? given[parameter.name] : null),
  );
}

/** The model sends every argument as text, so both sides are compared in the declared type. */
function isSame({ value, type }: TestDefinition['tool_parameters'][number], given: unknown): boolean {
  const text = asText(given).trim();
  if (value === null) return text === '' || text === 'null';
  if (type === 'number') return text !== '' && Number(text) === Number(value);
  if (type === 'boolean') return text.toLowerCase() === String(value).toLowerCase();
  return text === String(value).trim();
}

/** The fields every result has besides its verdict. */
function settled(
  reply: AgentReply,
  tools: TestTools,
): Omit<AgentTestResult, 'status' | 'needs_review' | 'judge_reasoning'> {
  return {
    error: null,
    agent_replies: 1,
    agent_reply: reply.text.slice(0, 4_000),
    latency_ms: Math.round(reply.tookMs),
    turns_used: null,
    ended_by: null,
    mock_gaps: [...tools.gaps],
    simulation_result: null,
  };
}
