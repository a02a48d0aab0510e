/**
 * Runs the tools of one conversation: finds the tool, checks its arguments, enforces the limits on calls in
 * flight and time, and words the outcome for the timeline (always in full) and for the model (as
 * `error_handling` allows). The turn loop decides by the tool's `mode` whether the reply waits.
 */

import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import { messageOf } from '#base/message-of.ts';
import type { Variables } from '#config/agent-config.ts';
import { LIMITS } from '#config/limits.ts';
import type { PlannedTool, SystemVariables } from '#protocol/call-plan.ts';
import type { ToolCall, ToolDefinition } from '#runtime/llm/llm.ts';
import type { ClientTools } from './client-tool.ts';
import { HIDDEN_FAILURE } from './hidden-failure.ts';
import type { RawOutcome } from './raw-outcome.ts';
import type { ServedTool, ServerTools } from './server-tools.ts';
import { runWebhookTool } from './webhook-tool.ts';

/** The outcome of a tool call. */
interface ToolOutcome {
  readonly status: 'completed' | 'failed';
  /** The tool's answer, at most 256 KB; null without one. */
  readonly output: string | null;
  readonly outputTruncated: boolean;
  /** The failure, for the timeline; null when the call completed. */
  readonly error: string | null;
  readonly latencyMs: number;
  /** The text for the model. */
  readonly modelText: string;
}

/** How a tool runs, and its source in the timeline. */
interface ToolTraits {
  /**
   * `blocking` holds the reply, `fire_and_forget` does not wait, and a `background` result returns later as
   * an event.
   */
  readonly mode: PlannedTool['execution_mode'];
  readonly source: 'webhook' | 'client' | 'background' | 'mcp';
}

/** The tools of one conversation. */
export interface ToolRunner {
  /** The tools offered to the model now, in the plan's order; a server's tools may come and go. */
  readonly definitions: readonly ToolDefinition[];
  /** One sentence for the model about tools that are missing now; null or absent without any. */
  readonly notice?: string | null;
  /** Null for a name the model invented. */
  traits(toolName: string): ToolTraits | null;
  /**
   * Never rejects: an unknown tool, bad arguments, a timeout, an abort and too many calls in flight are
   * failed outcomes.
   */
  run(call: ToolCall, options: { readonly signal: AbortSignal }): Promise<ToolOutcome>;
  /** Cancels calls in flight when the conversation ends. */
  close(): void;
}

/** Options of a tool runner. */
export interface ToolRunnerOptions {
  readonly tools: readonly PlannedTool[];
  /** Read at every call, because a keypad menu may add a variable. */
  readonly variables: () => Variables;
  readonly systemVariables: SystemVariables;
  readonly egress: EgressGuard;
  /** Null without a web client: client tools are not offered then. */
  readonly clientTools: ClientTools | null;
  /** Absent without tools of MCP servers. */
  readonly serverTools?: ServerTools | null;
  readonly clock: Clock;
}

/** Creates the tools of one conversation. */
export function createToolRunner(options: ToolRunnerOptions): ToolRunner {
  const offered = options.tools.filter(
    (tool) => tool.tool_type === 'webhook' || options.clientTools !== null,
  );
  const tools = new Map(offered.map((tool) => [tool.function_name, tool]));
  const { serverTools = null } = options;
  const find = (name: string): RunnableTool | null => tools.get(name) ?? serverTools?.find(name) ?? null;
  const closing = new AbortController();
  const inFlight = { foreground: 0, background: 0 };

  async function run(call: ToolCall, { signal }: { readonly signal: AbortSignal }): Promise<ToolOutcome> {
    const tool = find(call.toolName);
    if (!tool) return refused(`There is no tool named ${call.toolName}.`);
    const input = parseArguments(call.input);
    if (!input) return refused('The arguments are not a JSON object.');
    const kind = traitsOf(tool).mode === 'background' ? 'background' : 'foreground';
    if (inFlight[kind] >= LIMITS.backgroundCallsInFlight)
      return refused(`Too many tool calls in flight; at most ${LIMITS.backgroundCallsInFlight} at a time.`);
    inFlight[kind]++;
    const startedMs = options.clock.now();
    const raw = await guarded(tool, input, { call, signal }).finally(() => inFlight[kind]--);
    return worded(tool, raw, Math.round(options.clock.now() - startedMs));
  }

  /** Runs the tool under its timeout, the caller's signal and the end of the conversation. */
  async function guarded(
    tool: RunnableTool,
    input: Record<string, unknown>,
    context: { call: ToolCall; signal: AbortSignal },
  ): Promise<RawOutcome> {
    const timeout = new AbortController();
    const timer = options.clock.after(tool.timeout_seconds * 1_000, () =>
      timeout.abort(new Error(`timed out after ${tool.timeout_seconds} s`)),
    );
    const signal = AbortSignal.any([context.signal, closing.signal, timeout.signal]);
    try {
      signal.throwIfAborted();
      return await carryOut(tool, input, { callId: context.call.callId, signal });
    } catch (error) {
      return unanswered(messageOf(timeout.signal.aborted ? timeout.signal.reason : error));
    } finally {
      timer.cancel();
    }
  }

  function carryOut(
    tool: RunnableTool,
    input: Record<string, unknown>,
    context: { callId: string; signal: AbortSignal },
  ): Promise<RawOutcome> {
    if (tool.tool_type === 'mcp') return runServed(serverTools, tool, { input, signal: context.signal });
    if (tool.tool_type === 'client' && options.clientTools)
      return options.clientTools.run(tool, input, context);
    const { egress, systemVariables } = options;
    const values = { variables: options.variables(), systemVariables, arguments: input };
    return runWebhookTool(tool, values, { egress, signal: context.signal });
  }

  const definitions = offered.map(definitionOf);
  return {
    get definitions() {
      return serverTools ? [...definitions, ...serverTools.definitions] : definitions;
    },
    get notice() {
      return serverTools?.notice ?? null;
    },
    traits: (toolName) => {
      const tool = find(toolName);
      return tool ? traitsOf(tool) : null;
    },
    run,
    close: () => {
      // First the calls, so that the servers hear of it.
      closing.abort(new Error('the conversation has ended'));
      serverTools?.close();
    },
  };
}

function definitionOf({ function_name, name, description, arguments: args }: PlannedTool): ToolDefinition {
  return { name: function_name, description: description || name, arguments: args };
}

function unanswered(error: string): RawOutcome {
  return { ok: false, output: null, outputTruncated: false, error };
}

type RunnableTool = PlannedTool | ServedTool;

function runServed(
  serverTools: ServerTools | null,
  tool: ServedTool,
  { input, signal }: { readonly input: Record<string, unknown>; readonly signal: AbortSignal },
): Promise<RawOutcome> {
  if (!serverTools) throw new Error('a tool of a server without servers');
  return serverTools.run(tool, input, signal);
}

function traitsOf(tool: RunnableTool): ToolTraits {
  if (tool.tool_type === 'mcp')
    return { mode: tool.execution_mode, source: tool.execution_mode === 'background' ? 'background' : 'mcp' };
  if (tool.tool_type === 'client')
    return { mode: tool.expects_response ? 'blocking' : 'fire_and_forget', source: 'client' };
  return {
    mode: tool.execution_mode,
    source: tool.execution_mode === 'background' ? 'background' : 'webhook',
  };
}

function parseArguments(input: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(input.trim() === '' ? '{}' : input);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function refused(error: string): ToolOutcome {
  return {
    status: 'failed',
    output: null,
    outputTruncated: false,
    error,
    latencyMs: 0,
    modelText: JSON.stringify({ error }),
  };
}

/** Words a raw outcome for the timeline and for the model. */
export function worded(
  tool: Pick<PlannedTool, 'error_handling'>,
  raw: RawOutcome,
  latencyMs: number,
): ToolOutcome {
  const { output, outputTruncated, error } = raw;
  const modelText = raw.ok ? (output ?? 'done') : failureText(tool, raw);
  return { status: raw.ok ? 'completed' : 'failed', output, outputTruncated, error, latencyMs, modelText };
}

function failureText(tool: Pick<PlannedTool, 'error_handling'>, raw: RawOutcome): string {
  return tool.error_handling === 'hide'
    ? HIDDEN_FAILURE
    : JSON.stringify({ error: raw.error, body: raw.output });
}
