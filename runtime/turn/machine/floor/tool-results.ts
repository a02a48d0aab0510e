/** Results of tool calls: on the timeline, and in the answer for the model. */
import { type Draft, record } from '../draft.ts';
import type { TurnInput } from '../turn-inputs.ts';
import type { Answer, CallWithResult } from '../turn-state.ts';

type ToolFinished = Extract<TurnInput, { type: 'tool.finished' }>;

/** Adds a result to the timeline. */
export function noteResult(
  draft: Draft,
  result: Pick<ToolFinished, 'callId' | 'status' | 'output' | 'outputTruncated' | 'error' | 'latencyMs'>,
  of: { readonly toolName: string; readonly source: string; readonly turnId: number | null },
): void {
  record(draft, {
    type: 'tool_result',
    call_id: result.callId,
    tool_name: of.toolName,
    tool_source: of.source,
    status: result.status,
    output: result.output,
    output_truncated: result.outputTruncated,
    error: result.error,
    latency_ms: result.latencyMs,
    turn_id: of.turnId,
    createdAtMs: draft.atMs,
  });
}

/** The answer with a call's result added for the model. */
export function withResult(answer: Answer, callId: string, result: string | null): Answer {
  const change = (calls: readonly CallWithResult[]) =>
    calls.map((entry) => (entry.call.callId === callId ? { ...entry, result } : entry));
  return {
    ...answer,
    generation: { ...answer.generation, calls: change(answer.generation.calls) },
    rounds: answer.rounds.map((round) => ({ ...round, calls: change(round.calls) })),
  };
}
