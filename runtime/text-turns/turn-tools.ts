/** The tools of one turn, and what they did as items of the timeline. */
import type { Clock } from '#base/clock.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { TextTurnEvent } from '#protocol/text-turn.ts';
import { isoNow } from '../calls/wall-time.ts';
import type { ToolCall, ToolDefinition } from '../llm/llm.ts';
import type { ToolRunner } from '../tools/tool-runner.ts';
import type { TextTools } from './text-agent.ts';

/** Dependencies of a turn's tools. */
export interface TurnToolsDeps {
  readonly runner: ToolRunner;
  readonly clock: Clock;
  /** Number of the turn in its session. */
  readonly number: number;
  onEvent(event: TextTurnEvent): void;
}

/** Runs the tools of a turn and keeps their items. */
export class TurnTools implements TextTools {
  /** The items of the tools so far, in order. */
  readonly items: SessionItem[] = [];
  readonly #plan: Pick<CallPlan, 'config'>;
  readonly #deps: TurnToolsDeps;

  constructor(plan: Pick<CallPlan, 'config'>, deps: TurnToolsDeps) {
    this.#plan = plan;
    this.#deps = deps;
  }

  get definitions(): readonly ToolDefinition[] {
    return this.#plan.config.tools.enabled ? this.#deps.runner.definitions : [];
  }

  get notice(): string | null {
    return this.#deps.runner.notice ?? null;
  }

  async answer(call: ToolCall, signal: AbortSignal): Promise<string> {
    const { runner, clock, number, onEvent } = this.#deps;
    const about = {
      call_id: call.callId,
      tool_name: call.toolName,
      tool_source: runner.traits(call.toolName)?.source ?? null,
      turn_id: number,
    };
    this.items.push({ type: 'tool_call', ...about, input: call.input, created_at: isoNow(clock) });
    onEvent({ type: 'text_tool', tool_name: call.toolName, status: 'started' });
    const outcome = await runner.run(call, { signal });
    signal.throwIfAborted();
    const { status, output, outputTruncated, error, latencyMs, modelText } = outcome;
    this.items.push({
      type: 'tool_result',
      ...about,
      status,
      output,
      output_truncated: outputTruncated,
      error,
      latency_ms: latencyMs,
      created_at: isoNow(clock),
    });
    onEvent({ type: 'text_tool', tool_name: call.toolName, status });
    return modelText;
  }
}
