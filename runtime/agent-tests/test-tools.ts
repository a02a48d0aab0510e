/**
 * Tools of a test conversation: answered by the test's mocks or the tool's own first mock, or really called
 * where the test says so. Webhook tools and tools of servers are blocking here. A call without any answer is
 * a gap, and a test with a gap cannot pass.
 */

import type { EgressGuard } from '#base/egress.ts';
import {
  type AgentTestJob,
  type AgentTestResult,
  serverToolId,
  type ToolMock,
  type ToolMocks,
  toolMocks,
} from '#protocol/agent-test.ts';
import type { PlannedTool } from '#protocol/call-plan.ts';
import type { McpTokens } from '#protocol/mcp-tokens.ts';
import type { ToolCall, ToolDefinition } from '#runtime/llm/llm.ts';
import { shownCalls } from '#runtime/tools/hidden-failure.ts';
import { type ToolRunner, worded } from '#runtime/tools/tool-runner.ts';
import type { TextContext } from '../text-turns/ask-model.ts';
import { blockingTools, createBlockingRunner } from '../text-turns/blocking-tools.ts';
import { argumentsMatch, parsedArguments } from './patterns.ts';

/** Characters kept of a tool's answer. */
const OUTPUT_CHARS = 4_000;
const NO_MOCK = 'This tool has no mock answer in this test.';

type Gap = AgentTestResult['mock_gaps'][number];
/** One call as it appears in the result. */
export type RecordedCall = NonNullable<AgentTestResult['simulation_result']>['tool_calls'][number];

/** The tools of one conversation. */
export interface TestTools {
  readonly definitions: readonly ToolDefinition[];
  /** Calls so far, in order. */
  readonly calls: readonly RecordedCall[];
  readonly gaps: readonly Gap[];
  /** The calls in the form shown to the judging model. */
  shown(calls: readonly RecordedCall[]): readonly RecordedCall[];
  /** Answers a call; rejects only when the signal aborts. Returns the text for the model. */
  answer(call: ToolCall, signal: AbortSignal): Promise<string>;
  /** True when `name` (id, function name or display name) refers to the tool with this function name. */
  isNamed(functionName: string, name: string): boolean;
  close(): void;
}

/** Dependencies of tools that are really called. */
interface OutsideTools {
  readonly egress: EgressGuard;
  readonly serverTokens: McpTokens;
}

/** Creates the tools of a job. */
export function createTestTools(job: AgentTestJob, of: OutsideTools, context: TextContext): TestTools {
  return new MockedTools(job, of, context);
}

/** A tool as tests name it. */
type NamedTool = Pick<PlannedTool, 'tool_id' | 'function_name' | 'name' | 'error_handling'> & {
  readonly tool_type: PlannedTool['tool_type'] | 'mcp';
};

/** A server's tool has no id of its own. */
function namedServerTools({ tool_servers }: AgentTestJob['plan']): NamedTool[] {
  return tool_servers.flatMap(({ tool_server_id, tools }) =>
    tools.map(({ name, function_name }) => ({
      tool_id: serverToolId(tool_server_id, name),
      function_name,
      name,
      error_handling: 'passthrough' as const,
      tool_type: 'mcp' as const,
    })),
  );
}

class MockedTools implements TestTools {
  readonly calls: RecordedCall[] = [];
  readonly definitions: readonly ToolDefinition[];
  readonly #storedMocks: AgentTestJob['stored_mocks'];
  readonly #mocks: ToolMocks;
  readonly #runner: ToolRunner;
  readonly #tools: ReadonlyMap<string, NamedTool>;
  readonly #gaps = new Map<string, Gap>();

  constructor(job: AgentTestJob, of: OutsideTools, context: TextContext) {
    const { plan } = job;
    const tools = blockingTools(plan);
    this.#storedMocks = job.stored_mocks;
    this.#mocks = job.test.simulation?.tool_mocks ?? toolMocks.parse({});
    this.#runner = createBlockingRunner(plan, {
      egress: of.egress,
      clock: context.clock,
      logger: null,
      // Client tools are offered as on a web call, but without a client only a mock can answer.
      clientTools:
        plan.channel === 'web_voice'
          ? { run: () => Promise.reject(new Error(NO_MOCK)), settle: () => undefined }
          : null,
      serverTokens: of.serverTokens,
    });
    const named: NamedTool[] = [...tools, ...namedServerTools(plan)];
    this.#tools = new Map(named.map((tool) => [tool.function_name, tool]));
    this.definitions = plan.config.tools.enabled ? this.#runner.definitions : [];
  }

  get gaps(): readonly Gap[] {
    return [...this.#gaps.values()];
  }

  shown(calls: readonly RecordedCall[]): readonly RecordedCall[] {
    return shownCalls([...this.#tools.values()], calls);
  }

  isNamed(functionName: string, name: string): boolean {
    const tool = this.#tools.get(functionName);
    return functionName === name || (tool !== undefined && (tool.tool_id === name || tool.name === name));
  }

  async answer(call: ToolCall, signal: AbortSignal): Promise<string> {
    const tool = this.#tools.get(call.toolName);
    const chosen: Choice = tool ? this.#choose(tool, call) : { source: 'missing' };
    const answered = await this.#answerFrom(tool, chosen, { call, signal });
    signal.throwIfAborted();
    if (chosen.source === 'missing' || chosen.source === 'unmatched')
      this.#noteGap(call.toolName, chosen.source);
    this.calls.push({
      tool_id: tool?.tool_id ?? null,
      tool_name: call.toolName,
      arguments: call.input.slice(0, OUTPUT_CHARS),
      mock_source: chosen.source,
      status: answered.status,
      output: answered.output?.slice(0, OUTPUT_CHARS) ?? null,
    });
    return answered.modelText;
  }

  close(): void {
    this.#runner.close();
  }

  #choose(tool: NamedTool, call: ToolCall): Choice {
    if (this.#isReal(tool)) return { source: 'real' };
    // Tools that cannot really be called have no answer when mocks are off.
    if (this.#mocks.strategy === 'none') return { source: 'missing' };
    const own = this.#mocks.tools.filter((mock) => this.isNamed(tool.function_name, mock.tool));
    const fitting = own.find(
      (mock) => mock.when === null || argumentsMatch(mock.when, parsedArguments(call.input)),
    );
    if (fitting) return { source: 'test', ...mockedByTest(fitting) };
    const stored = this.#storedMocks.find((mock) => mock.tool_id === tool.tool_id);
    if (own.length === 0 && stored && this.#mocks.strategy === 'all')
      return { source: 'tool', status: stored.status_code, body: stored.body, isError: false };
    if (this.#mocks.fallback === 'real' && tool.tool_type !== 'client') return { source: 'real' };
    return { source: own.length > 0 ? 'unmatched' : 'missing' };
  }

  #isReal(tool: NamedTool): boolean {
    const { strategy, real_tools } = this.#mocks;
    return (
      tool.tool_type !== 'client' &&
      (strategy === 'none' || real_tools.some((name) => this.isNamed(tool.function_name, name)))
    );
  }

  async #answerFrom(
    tool: NamedTool | undefined,
    chosen: Choice,
    { call, signal }: { call: ToolCall; signal: AbortSignal },
  ) {
    if (chosen.source === 'real') return this.#runner.run(call, { signal });
    if (tool && 'body' in chosen) {
      const ok = !chosen.isError && chosen.status >= 200 && chosen.status < 300;
      return worded(
        tool,
        { ok, output: chosen.body, outputTruncated: false, error: ok ? null : `HTTP ${chosen.status}` },
        0,
      );
    }
    return { status: 'failed' as const, output: null, modelText: JSON.stringify({ error: NO_MOCK }) };
  }

  #noteGap(toolName: string, source: Gap['source']): void {
    const key = `${source}:${toolName}`;
    const calls = (this.#gaps.get(key)?.calls ?? 0) + 1;
    this.#gaps.set(key, { tool_name: toolName, source, calls });
  }
}

/** The source of a call's answer. */
type Choice =
  | {
      readonly source: 'test' | 'tool';
      readonly status: number;
      readonly body: string;
      readonly isError: boolean;
    }
  | { readonly source: 'real' | 'missing' | 'unmatched' };

function mockedByTest(mock: ToolMock): { status: number; body: string; isError: boolean } {
  const body = typeof mock.result === 'string' ? mock.result : JSON.stringify(mock.result ?? null);
  return { status: mock.status ?? (mock.error ? 500 : 200), body, isError: mock.error };
}
