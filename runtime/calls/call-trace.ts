/**
 * A call's reports as trace spans: its turns with the parts of their waterfall in sequence, the tools and
 * searches within them, and model usage. Spans never contain what was said.
 */

import type { FinishedSpan, Tracing } from '#config/tracing.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { ModelUsage, SessionItem, TurnLatency } from '#protocol/session-record.ts';
import type { DurableReport } from '#protocol/worker-link.ts';

/** Parts of a turn's waterfall in order, with their names in a trace. */
const PARTS = [
  ['endpoint_ms', 'endpointing'],
  ['transcript_ms', 'asr final'],
  ['first_token_ms', 'llm first token'],
  ['first_sentence_ms', 'llm first sentence'],
  ['first_audio_ms', 'tts first audio'],
  ['playout_ms', 'playout'],
] as const;

/** A turn in progress. It is recorded when the next one begins, so that late reports are included. */
interface OpenTurn {
  latency: TurnLatency | null;
  readonly parts: FinishedSpan[];
  readonly usage: Omit<ModelUsage, 'turn_id'>[];
}

/** Receives each report of one call. */
export interface CallTrace {
  note(report: DurableReport): void;
}

/**
 * Traces a call; does nothing without a tracer. `startMs` is the wall time at which the worker received the
 * plan.
 */
export function traceCall(tracing: Tracing | null, plan: CallPlan, startMs: number): CallTrace {
  const { traceparent } = plan;
  return tracing && traceparent !== null
    ? new TracedCall(tracing, { traceparent, plan, startMs })
    : { note: () => undefined };
}

class TracedCall implements CallTrace {
  readonly #tracing: Tracing;
  readonly #call: { readonly traceparent: string; readonly plan: CallPlan; readonly startMs: number };
  readonly #turns = new Map<number, OpenTurn>();

  constructor(
    tracing: Tracing,
    call: { readonly traceparent: string; readonly plan: CallPlan; readonly startMs: number },
  ) {
    this.#tracing = tracing;
    this.#call = call;
  }

  note(report: DurableReport): void {
    if (report.type === 'joined') this.#ofCall({ name: 'join', ...this.#until(report.at) });
    else if (report.type === 'dial') {
      const { dial_status: status } = report;
      this.#ofCall({
        name: 'dial',
        ...this.#until(report.at),
        attributes: { 'parley.dial_status': status },
        error: status === 'answered' ? null : status,
      });
    } else if (report.type === 'items') for (const item of report.items) this.#noteItem(item);
    else if (report.type === 'usage' && report.turn_id !== null)
      this.#turn(report.turn_id).usage.push(report);
    else if (report.type === 'turn') {
      // A merged turn is measured again.
      const isAgain = this.#turns.get(report.latency.turn_id)?.latency;
      this.#recordBefore(report.latency.turn_id + (isAgain ? 1 : 0));
      this.#turn(report.latency.turn_id).latency = report.latency;
    } else if (report.type === 'ended') this.#recordBefore(Number.POSITIVE_INFINITY);
  }

  #noteItem(item: SessionItem): void {
    const span = spanOf(item);
    if (span === null) return;
    if (item.turn_id === null) this.#ofCall(span);
    else this.#turn(item.turn_id).parts.push(span);
  }

  #turn(turnId: number): OpenTurn {
    const turn = this.#turns.get(turnId) ?? { latency: null, parts: [], usage: [] };
    this.#turns.set(turnId, turn);
    return turn;
  }

  #recordBefore(turnId: number): void {
    for (const [id, turn] of this.#turns) {
      if (id >= turnId) continue;
      this.#turns.delete(id);
      this.#record(id, turn);
    }
  }

  /** A turn that was never heard has no waterfall: its work becomes part of the call's span. */
  #record(turnId: number, { latency, parts, usage }: OpenTurn): void {
    if (latency === null) {
      for (const part of parts) this.#ofCall(part);
      return;
    }
    const { plan } = this.#call;
    const startMs = Date.parse(latency.speech_ended_at);
    const parent = this.#ofCall({
      name: 'turn',
      startMs,
      endMs: startMs + latency.total_ms,
      attributes: {
        'parley.turn_id': turnId,
        'parley.endpoint_rule': latency.endpoint_rule,
        'parley.speculative': latency.speculative,
        'parley.asr_model': plan.config.asr.model,
        'parley.tts_voice': plan.config.voice.voice_id,
        ...Object.fromEntries([
          ...PARTS.map(([field]) => [`parley.${field}`, latency[field]]),
          ['parley.total_ms', latency.total_ms],
        ]),
        ...usageAttributes(usage),
      },
    });
    let reachedMs = startMs;
    for (const [field, name] of PARTS) {
      const endMs = reachedMs + latency[field];
      if (endMs > reachedMs) this.#tracing.record({ name, parent, startMs: reachedMs, endMs });
      reachedMs = endMs;
    }
    for (const part of parts) this.#tracing.record({ ...part, parent });
  }

  #ofCall(span: FinishedSpan): string {
    return this.#tracing.record({ ...span, parent: this.#call.traceparent });
  }

  #until(at: string): { startMs: number; endMs: number } {
    return { startMs: this.#call.startMs, endMs: Date.parse(at) };
  }
}

/** The span of a tool run, search or model error; null for messages. */
function spanOf(item: SessionItem): FinishedSpan | null {
  const endMs = Date.parse(item.created_at);
  switch (item.type) {
    case 'tool_result': {
      const attributes = { 'parley.tool': item.tool_name, 'parley.tool_source': item.tool_source };
      // A tool's error message may quote the caller.
      const error = item.status === 'failed' ? 'failed' : null;
      return {
        name: `tool ${item.tool_name}`,
        startMs: endMs - (item.latency_ms ?? 0),
        endMs,
        attributes,
        error,
      };
    }
    case 'knowledge_retrieval':
      return {
        name: 'knowledge search',
        startMs: endMs - item.latency_ms,
        endMs,
        attributes: { 'parley.passages': item.citations.length },
        error: item.status === 'timeout' ? 'timeout' : null,
      };
    case 'llm.endpoint_error':
      return {
        name: 'llm error',
        startMs: endMs,
        endMs,
        attributes: { 'http.response.status_code': item.status },
        error: 'llm error',
      };
    case 'message':
    case 'participant':
    case 'tool_call':
      return null;
    default:
      return item satisfies never;
  }
}

/** Token counts of a turn's model runs, summed, under the names of the semantic conventions. */
function usageAttributes(
  usage: readonly Omit<ModelUsage, 'turn_id'>[],
): NonNullable<FinishedSpan['attributes']> {
  const sum = (field: 'input_tokens' | 'output_tokens' | 'discarded_output_tokens') =>
    usage.reduce((all, run) => all + (run[field] ?? 0), 0);
  return {
    'gen_ai.request.model': usage.at(-1)?.model ?? null,
    'gen_ai.usage.input_tokens': sum('input_tokens'),
    'gen_ai.usage.output_tokens': sum('output_tokens'),
    'parley.discarded_output_tokens': sum('discarded_output_tokens'),
  };
}
