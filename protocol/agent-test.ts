/**
 * Agent tests: a test's content, the job for a worker, and its result. The control plane stores and places
 * them; a worker runs the text conversation and judges it.
 */
import { z } from 'zod';
import { variables } from '#config/agent-config.ts';
import { LIMITS } from '#config/limits.ts';
import { callPlan } from './call-plan.ts';
import { freeJson } from './free-json.ts';

/** Kinds of test. */
export const testType = z.enum(['next_reply', 'tool', 'simulation']);

/** Most bytes of JSON in a mocked result; our choice. */
const MOCK_RESULT_BYTES = 16 * 1024;

const turn = z.strictObject({ role: z.enum(['agent', 'user']), text: z.string().min(1).max(2_000) });
const example = z.string().min(1).max(400);

/** Sources of tools in tests; `integration` is hanging up, `mcp` a tool of a server. */
export const testToolType = z.enum(['webhook', 'client', 'integration', 'mcp']);

/** A tool of a server, which has no id of its own, in tests. */
export function serverToolId(serverId: string, toolName: string): string {
  return `${serverId}/${toolName}`;
}

const referencedTool = z.strictObject({
  id: z.string().min(1).max(200),
  name: z.string().max(200).default(''),
  type: testToolType,
  description: z.string().max(LIMITS.toolDescriptionChars).default(''),
});

const toolParameter = z.strictObject({
  name: z.string().min(1).max(100),
  /** Null expects the parameter to be absent or empty. */
  value: z.union([z.string().max(1_000), z.number(), z.boolean(), z.null()]),
  /** Type in which both sides are compared; null: as text. */
  type: z.enum(['string', 'number', 'boolean']).nullable().default(null),
});

/**
 * The expected value of one argument of a call. Patterns are checked once, when a test is saved, because that
 * takes long.
 */
const paramMatcher = z.strictObject({
  type: z.enum(['exact', 'regex', 'any']).default('exact'),
  value: z.string().max(1_000).default(''),
});
const paramMatchers = z
  .record(z.string().min(1).max(100), paramMatcher)
  .refine((params) => Object.keys(params).length <= 100, 'at most 100 parameters');
export type ParamMatchers = z.output<typeof paramMatchers>;

/** A tool as named in assertions and mocks: its id, its function name or its display name. */
const toolName = z.string().min(1).max(200);

const toolCallAssertion = z
  .strictObject({
    tool: toolName,
    params: paramMatchers.default({}),
    min_calls: z.number().int().min(0).max(100).default(1),
    max_calls: z.number().int().min(0).max(100).nullable().default(null),
  })
  .refine(
    ({ min_calls, max_calls }) => max_calls === null || max_calls >= min_calls,
    'max_calls is below min_calls',
  );

const assertions = z.strictObject({
  tool_calls: z.array(toolCallAssertion).max(100).default([]),
  forbidden_tools: z.array(toolName).max(100).default([]),
  ended_by: z.enum(['agent', 'user', 'transfer', 'any']).nullable().default(null),
});

const toolMock = z.strictObject({
  tool: toolName,
  result: z.unknown().superRefine(freeJson(MOCK_RESULT_BYTES)),
  status: z.number().int().min(100).max(599).nullable().default(null),
  /** Applies only to calls with these arguments; null: to every call. */
  when: paramMatchers.nullable().default(null),
  error: z.boolean().default(false),
});
export type ToolMock = z.output<typeof toolMock>;

/** How the tools of a simulation answer. */
export const toolMocks = z.strictObject({
  /**
   * `all`: the test's mocks, then the tool's own first one; `selected`: the test's only; `none`: webhook
   * tools are really called.
   */
  strategy: z.enum(['all', 'selected', 'none']).default('all'),
  /** What happens to a call without a mock. */
  fallback: z.enum(['error', 'real']).default('error'),
  tools: z.array(toolMock).max(50).default([]),
  real_tools: z.array(toolName).max(50).default([]),
});
export type ToolMocks = z.output<typeof toolMocks>;

/** The fields of a simulation, with all defaults. */
export const simulation = z.strictObject({
  scenario: z.string().min(1).max(10_000),
  /** Turns of the simulated caller. */
  max_turns: z.number().int().min(1).max(50).default(10),
  success_conditions: z
    .array(z.strictObject({ name: z.string().min(1).max(80), description: z.string().min(1).max(500) }))
    .min(1)
    .max(10)
    .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, 'names must be unique'),
  assertions: assertions.prefault({}),
  tool_mocks: toolMocks.prefault({}),
  repeat_count: z.number().int().min(1).max(20).default(1),
  /** Null: a web call. */
  channel: z.enum(['web_voice', 'phone_inbound', 'phone_outbound']).nullable().default(null),
  /** `<provider>/<model>`; null: the agent's own. */
  simulated_user_model: z.string().min(1).max(256).nullable().default(null),
});
export type Simulation = z.output<typeof simulation>;

/** What a test checks, without its owner. */
export const testDefinition = z.strictObject({
  test_type: testType,
  conversation: z.array(turn).max(100).default([]),
  expectation: z.string().max(400).default(''),
  success_examples: z.array(example).max(20).default([]),
  failure_examples: z.array(example).max(20).default([]),
  /** Null: no tool may be called. */
  referenced_tool: referencedTool.nullable().default(null),
  tool_parameters: z.array(toolParameter).max(100).default([]),
  /** The referenced tool must not be called. */
  verify_absence: z.boolean().default(false),
  dynamic_variables: variables.default({}),
  simulation: simulation.nullable().default(null),
});
export type TestDefinition = z.output<typeof testDefinition>;

/** One run of a test, as sent to a worker. */
export const agentTestJob = z.object({
  run_id: z.string(),
  /** The agent's draft when the batch started. */
  plan: callPlan,
  test: testDefinition,
  /** The first mock response of each tool that has one. */
  stored_mocks: z.array(z.object({ tool_id: z.string(), status_code: z.number().int(), body: z.string() })),
});
export type AgentTestJob = z.output<typeof agentTestJob>;

/** Why a run can end. */
export const testEndedBy = z.enum(['agent', 'user', 'transfer', 'max_turns', 'timeout', 'error']);

/** A judged answer. */
export const judgement = z.enum(['success', 'failure', 'unknown']);

const mockGap = z.object({
  tool_name: z.string(),
  source: z.enum(['missing', 'unmatched']),
  calls: z.number().int(),
});

const simulationResult = z.object({
  transcript: z.array(z.object({ role: z.enum(['agent', 'user']), text: z.string() })),
  tool_calls: z.array(
    z.object({
      tool_id: z.string().nullable(),
      tool_name: z.string(),
      arguments: z.string(),
      mock_source: z.enum(['test', 'tool', 'missing', 'unmatched', 'real']),
      status: z.enum(['completed', 'failed']),
      output: z.string().nullable(),
    }),
  ),
  assertions: z.array(
    z.object({
      kind: z.enum(['tool_call', 'forbidden_tool', 'ended_by']),
      target: z.string(),
      passed: z.boolean(),
      detail: z.string(),
    }),
  ),
  conditions: z.array(z.object({ name: z.string(), result: judgement, rationale: z.string() })),
  summary: z.string(),
  passed: z.boolean(),
});

/** Result of a run. */
export const agentTestResult = z.object({
  status: z.enum(['passed', 'failed', 'error']),
  needs_review: z.boolean(),
  /** Why there is no verdict; null unless the status is `error`. */
  error: z.string().nullable(),
  agent_replies: z.number().int(),
  agent_reply: z.string().nullable(),
  judge_reasoning: z.string().nullable(),
  /** Mean time of the model for a reply of the agent. */
  latency_ms: z.number().nullable(),
  turns_used: z.number().int().nullable(),
  ended_by: testEndedBy.nullable(),
  mock_gaps: z.array(mockGap),
  simulation_result: simulationResult.nullable(),
});
export type AgentTestResult = z.infer<typeof agentTestResult>;

/** The result of a run without a verdict. */
export function testError(error: string): AgentTestResult {
  return {
    status: 'error',
    needs_review: false,
    error,
    agent_replies: 0,
    agent_reply: null,
    judge_reasoning: null,
    latency_ms: null,
    turns_used: null,
    ended_by: null,
    mock_gaps: [],
    simulation_result: null,
  };
}
