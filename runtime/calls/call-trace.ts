/**
 * A call as spans: its turns with the parts of their waterfall in sequence, and within them what the caller
 * said, and the generations, tools, searches and syntheses. Reports give the turns, the turn machine's facts
 * the caller's speech and the fate of replies, and the engines their own work.
 */

import type { Clock } from '#base/clock.ts';
import { GEN_AI, type InvocationEnd, OPERATION } from '#config/gen-ai.ts';
import type { FinishedSpan, SpanAttributes, Tracing } from '#config/tracing.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { ModelUsage, SessionItem, TurnLatency } from '#protocol/session-record.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import type { Effect } from '../turn/machine/turn-effects.ts';
import type { TurnInput } from '../turn/machine/turn-inputs.ts';
import type { CallDeps } from './call.ts';
import { CallerSpeech } from './caller-speech.ts';
import { toolContent } from './trace-content.ts';
import { type EngineTrace, tracedKnowledge, tracedModel, tracedSynthesizer } from './traced-engines.ts';

/** Parts of a turn's waterfall in order, with their names in a trace. */
const PARTS = [
  ['endpoint_ms', 'endpointing'],
  ['transcript_ms', 'asr final'],
  ['first_token_ms', 'llm first token'],
  ['first_sentence_ms', 'llm first sentence'],
  ['first_audio_ms', 'tts first audio'],
  ['playout_ms', 'playout'],
] as const;

/** A generated reply: its turn, and whether it is given up without having been heard. */
interface Reply {
  readonly turnId: number;
  isDiscarded: boolean;
}

/** Work done for a turn; `reply` for a reply of it. */
interface Part {
  readonly span: FinishedSpan;
  readonly reply: Reply | null;
}

/** A turn in progress. It is recorded when the next one begins, so that late reports are included. */
interface OpenTurn {
  latency: TurnLatency | null;
  /** When and how its last reply ended. */
  end: { readonly atMs: number; readonly reason: InvocationEnd } | null;
  readonly parts: Part[];
  readonly usage: Omit<ModelUsage, 'turn_id'>[];
}

type Engines = Pick<CallDeps, 'recognizer' | 'model' | 'synthesizer' | 'knowledge'>;

/** Receives what happens in one call. */
export interface CallTrace {
  note(report: DurableReport): void;
  /** A step of the turn machine: a fact, and what follows from it before it is carried out. */
  step(input: TurnInput, effects: readonly Effect[]): void;
  /** The call's engines, traced. */
  engines<Own extends Engines>(engines: Own): Own;
  /** The call is over, or another worker has it. */
  close(): void;
}

const UNTRACED: CallTrace = {
  note: () => undefined,
  step: () => undefined,
  engines: (engines) => engines,
  close: () => undefined,
};

/** Traces a call, from now on; does nothing, and leaves the engines as they are, without a tracer. */
export function traceCall(tracing: Tracing | null, plan: CallPlan, clock: Clock): CallTrace {
  const { traceparent } = plan;
  return tracing && traceparent !== null ? new TracedCall(tracing, { traceparent, plan, clock }) : UNTRACED;
}

class TracedCall implements CallTrace {
  readonly #tracing: Tracing;
  readonly #call: { readonly traceparent: string; readonly plan: CallPlan; readonly clock: Clock };
  readonly #startMs: number;
  readonly #turns = new Map<number, OpenTurn>();
  readonly #replies = new Map<string, Reply>();
  readonly #toolInputs = new Map<string, string>();
  readonly #speech: CallerSpeech;
  readonly #engineTrace: EngineTrace;
  #recogniserId: () => string | null = () => null;
  #latestReply: string | null = null;
  #hasLeg = true;
  /** Wall time of the end; nothing in the call may seem to end later. */
  #endMs = Number.POSITIVE_INFINITY;

  constructor(
    tracing: Tracing,
    call: { readonly traceparent: string; readonly plan: CallPlan; readonly clock: Clock },
  ) {
    const { clock, plan } = call;
    this.#tracing = tracing;
    this.#call = call;
    this.#startMs = clock.wallTime();
    // Previews are unrecorded and sent to no webhook: their words are not sent to a collector either.
    const hasContent = tracing.hasContent && !plan.is_preview;
    const common = { [GEN_AI.conversationId]: plan.session_id };
    this.#speech = new CallerSpeech({
      engineId: () => this.#recogniserId(),
      language: plan.config.voice.speaking_language,
      common,
      hasContent,
      wallMs: (monotonicMs) => this.#wallMs(monotonicMs),
    });
    this.#engineTrace = {
      clock,
      hasContent,
      running: new Set(),
      common,
      latestReply: () => this.#latestReply,
      note: (span, replyId) => this.#noteWork(span, replyId),
    };
  }

  engines<Own extends Engines>(engines: Own): Own {
    const trace = this.#engineTrace;
    this.#recogniserId = () => engines.recognizer?.id ?? null;
    return {
      ...engines,
      model: tracedModel(engines.model, trace),
      synthesizer: tracedSynthesizer(engines.synthesizer, trace),
      knowledge: engines.knowledge ? tracedKnowledge(engines.knowledge, trace) : null,
    };
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
    else if (report.type === 'turn') this.#noteTurn(report.latency);
    else if (report.type === 'ended') {
      this.#endMs = Date.parse(report.at);
      this.close();
    }
  }

  step(input: TurnInput, effects: readonly Effect[]): void {
    this.#speech.observe(input);
    if (input.type === 'leg.closed' || input.type === 'leg.lost') this.#hasLeg = false;
    else if (input.type === 'leg.replaced') this.#hasLeg = true;
    else if (input.type === 'playout.finished' || input.type === 'playout.cleared') this.#noteEnd(input);
    for (const effect of effects) this.#noteEffect(effect);
  }

  close(): void {
    for (const end of [...this.#engineTrace.running]) end();
    this.#recordBefore(Number.POSITIVE_INFINITY);
    for (const span of this.#speech.take()) this.#ofCall(span);
  }

  /** A speculative reply is discarded unless it is committed. */
  #noteEffect(effect: Effect): void {
    if (effect.do === 'generate') {
      const { isSpeculative, replyId, turnId } = effect;
      this.#latestReply = replyId;
      this.#replies.set(replyId, { turnId, isDiscarded: isSpeculative });
    } else if (effect.do === 'commit' || effect.do === 'discard') {
      const reply = this.#replies.get(effect.replyId);
      if (reply) reply.isDiscarded = effect.do === 'discard';
    }
  }

  #noteTurn(latency: TurnLatency): void {
    // A merged turn is measured again.
    const isAgain = this.#turns.get(latency.turn_id)?.latency;
    this.#recordBefore(latency.turn_id + (isAgain ? 1 : 0));
    const turn = this.#turn(latency.turn_id);
    turn.latency = latency;
    turn.parts.push(...this.#speech.take().map((span) => ({ span, reply: null })));
  }

  #noteItem(item: SessionItem): void {
    const { hasContent } = this.#engineTrace;
    if (item.type === 'tool_call' && hasContent) this.#toolInputs.set(item.call_id, item.input);
    if (item.type !== 'tool_result') return;
    const content = hasContent ? toolContent(this.#toolInputs.get(item.call_id) ?? null, item.output) : {};
    this.#toolInputs.delete(item.call_id);
    const span = toolSpan(item, { ...this.#engineTrace.common, ...content });
    if (item.turn_id === null) this.#ofCall(span);
    else this.#turn(item.turn_id).parts.push({ span, reply: null });
  }

  /** Fixed texts and work of the call itself belong to no turn. */
  #noteWork(span: FinishedSpan, replyId: string | null): void {
    const reply = replyId === null ? undefined : this.#replies.get(replyId);
    if (reply) this.#turn(reply.turnId).parts.push({ span, reply });
    else this.#ofCall(span);
  }

  #noteEnd({ atMs, replyId, type }: Extract<TurnInput, { type: `playout.${string}` }>): void {
    const reply = this.#replies.get(replyId);
    const turn = reply && this.#turns.get(reply.turnId);
    if (!turn) return;
    const cut = this.#hasLeg ? 'interrupted' : 'session_closed';
    turn.end = { atMs: this.#wallMs(atMs), reason: type === 'playout.finished' ? 'completed' : cut };
  }

  #turn(turnId: number): OpenTurn {
    const turn = this.#turns.get(turnId) ?? { latency: null, end: null, parts: [], usage: [] };
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
  #record(turnId: number, turn: OpenTurn): void {
    const { end, latency, usage } = turn;
    const parts = turn.parts.map(withFate);
    if (latency === null) {
      for (const part of parts) this.#ofCall(part);
      return;
    }
    const { plan } = this.#call;
    const speechEndMs = Date.parse(latency.speech_ended_at);
    const parent = this.#ofCall({
      name: 'turn',
      startMs: Math.min(speechEndMs, ...parts.map(({ startMs }) => startMs)),
      endMs: Math.max(speechEndMs + latency.total_ms, end?.atMs ?? 0, ...parts.map(({ endMs }) => endMs)),
      attributes: {
        ...this.#engineTrace.common,
        [GEN_AI.endReason]: end?.reason ?? null,
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
    let reachedMs = speechEndMs;
    for (const [field, name] of PARTS) {
      const endMs = reachedMs + latency[field];
      if (endMs > reachedMs) this.#within(parent, { name, startMs: reachedMs, endMs });
      reachedMs = endMs;
    }
    for (const part of parts) this.#within(parent, part);
  }

  #ofCall(span: FinishedSpan): string {
    return this.#within(this.#call.traceparent, span);
  }

  #within(parent: string, span: FinishedSpan): string {
    const startMs = Math.min(span.startMs, this.#endMs);
    return this.#tracing.record({ ...span, startMs, endMs: Math.min(span.endMs, this.#endMs), parent });
  }

  #until(at: string): { startMs: number; endMs: number } {
    return { startMs: this.#startMs, endMs: Date.parse(at) };
  }

  #wallMs(monotonicMs: number): number {
    const { clock } = this.#call;
    return clock.wallTime() - (clock.now() - monotonicMs);
  }
}

/** The span of work, which says if it was for a reply that was discarded before anyone heard it. */
function withFate({ reply, span }: Part): FinishedSpan {
  if (reply === null) return span;
  return { ...span, attributes: { ...span.attributes, 'parley.discarded': reply.isDiscarded } };
}

function toolSpan(
  item: Extract<SessionItem, { type: 'tool_result' }>,
  attributes: SpanAttributes,
): FinishedSpan {
  const endMs = Date.parse(item.created_at);
  // A tool's error message may quote the caller.
  const error = item.status === 'failed' ? 'failed' : null;
  return {
    name: `${OPERATION.tool} ${item.tool_name}`,
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

/**
 * Token counts of a turn's model runs, summed. They have names of our own: whoever adds up the spans of a
 * trace must count each generation once.
 */
function usageAttributes(usage: readonly Omit<ModelUsage, 'turn_id'>[]): SpanAttributes {
  const sum = (field: 'input_tokens' | 'output_tokens' | 'discarded_output_tokens') =>
    usage.reduce((all, run) => all + (run[field] ?? 0), 0);
  return {
    'parley.llm_model': usage.at(-1)?.model ?? null,
    'parley.input_tokens': sum('input_tokens'),
    'parley.output_tokens': sum('output_tokens'),
    'parley.discarded_output_tokens': sum('discarded_output_tokens'),
  };
}
