/** The spans of a call's turns and tools. */
import { GEN_AI, OPERATION, spanName, type TurnEnd } from '#config/gen-ai.ts';
import type { FinishedSpan, SpanAttributes } from '#config/tracing.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { ModelUsage, SessionItem, TurnLatency } from '#protocol/session-record.ts';
import type { Turn } from '../turn/machine/turn-state.ts';

/** Parts of a turn's waterfall in order, with their names in a trace. */
const PARTS = [
  ['endpoint_ms', 'endpointing'],
  ['transcript_ms', 'asr final'],
  ['first_token_ms', 'llm first token'],
  ['first_sentence_ms', 'llm first sentence'],
  ['first_audio_ms', 'tts first audio'],
  ['playout_ms', 'playout'],
] as const;

/** Tokens of one generation. */
export type TurnUsage = Omit<ModelUsage, 'turn_id'>;

/** Facts about a turn that the agent answers. Times are wall times. */
export interface TurnFacts {
  readonly turnId: number;
  readonly source: Turn['source'] | null;
  /** End of the caller's speech, or the moment of another turn. */
  readonly speechEndMs: number;
  /** Null for a turn that was not spoken, or whose answer was not heard. */
  readonly latency: TurnLatency | null;
  /** When and how its last reply ended; null if none was played. */
  readonly end: { readonly atMs: number; readonly reason: TurnEnd | null } | null;
  /** A kind of failure; null if the caller got an answer, or did not wait for one. */
  readonly error: string | null;
  readonly usage: readonly TurnUsage[];
}

/** A turn, long enough for the work within it. */
export function turnSpan(facts: TurnFacts, within: readonly FinishedSpan[], plan: CallPlan): FinishedSpan {
  const { end, error, latency, source, speechEndMs, turnId, usage } = facts;
  return {
    name: 'turn',
    startMs: Math.min(speechEndMs, ...within.map(({ startMs }) => startMs)),
    endMs: Math.max(
      speechEndMs + (latency?.total_ms ?? 0),
      end?.atMs ?? 0,
      ...within.map(({ endMs }) => endMs),
    ),
    attributes: {
      [GEN_AI.conversationId]: plan.session_id,
      [GEN_AI.endReason]: end?.reason ?? null,
      [GEN_AI.errorType]: error,
      'parley.turn_id': turnId,
      'parley.source': source,
      'parley.tts_voice': plan.config.voice.voice_id,
      ...(latency === null ? {} : latencyAttributes(latency, plan)),
      ...usageAttributes(usage),
    },
    error,
  };
}

/** The parts of a turn's latency, one after the other. */
export function waterfallSpans(speechEndMs: number, latency: TurnLatency): FinishedSpan[] {
  const spans: FinishedSpan[] = [];
  let reachedMs = speechEndMs;
  for (const [field, name] of PARTS) {
    const endMs = reachedMs + latency[field];
    if (endMs > reachedMs) spans.push({ name, startMs: reachedMs, endMs });
    reachedMs = endMs;
  }
  return spans;
}

/** The run of a tool. */
export function toolSpan(
  item: Extract<SessionItem, { type: 'tool_result' }>,
  attributes: SpanAttributes,
): FinishedSpan {
  const endMs = Date.parse(item.created_at);
  // A tool's error message may quote the caller.
  const error = item.status === 'failed' ? 'failed' : null;
  return {
    name: spanName(OPERATION.tool, item.tool_name),
    startMs: endMs - (item.latency_ms ?? 0),
    endMs,
    attributes: {
      [GEN_AI.operation]: OPERATION.tool,
      [GEN_AI.toolName]: item.tool_name,
      [GEN_AI.toolType]: 'function',
      [GEN_AI.toolCallId]: item.call_id,
      'parley.tool_source': item.tool_source,
      [GEN_AI.errorType]: error,
      ...attributes,
    },
    error,
  };
}

function latencyAttributes(latency: TurnLatency, plan: CallPlan): SpanAttributes {
  return {
    'parley.endpoint_rule': latency.endpoint_rule,
    'parley.speculative': latency.speculative,
    'parley.asr_model': plan.config.asr.model,
    ...Object.fromEntries(PARTS.map(([field]) => [`parley.${field}`, latency[field]])),
    'parley.total_ms': latency.total_ms,
  };
}

/**
 * Token counts of a turn's model runs, summed. They have names of our own: a sum over the spans of a
 * trace must count each generation once.
 */
function usageAttributes(usage: readonly TurnUsage[]): SpanAttributes {
  const sum = (field: 'input_tokens' | 'output_tokens' | 'discarded_output_tokens') =>
    usage.reduce((all, run) => all + (run[field] ?? 0), 0);
  return {
    'parley.llm_model': usage.at(-1)?.model ?? null,
    'parley.input_tokens': sum('input_tokens'),
    'parley.output_tokens': sum('output_tokens'),
    'parley.discarded_output_tokens': sum('discarded_output_tokens'),
  };
}
