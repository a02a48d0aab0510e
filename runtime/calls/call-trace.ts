/**
 * A call as spans: its turns with the parts of their waterfall in sequence, and within them what the caller
 * said, and the generations, tools, searches and syntheses. Reports give the latencies, tools and tokens, the
 * turn machine the turns, the caller's speech and the fate of replies, and the engines their own work.
 */

import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { GEN_AI, type TurnEnd } from '#config/gen-ai.ts';
import type { FinishedSpan, Tracing } from '#config/tracing.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import type { Effect } from '../turn/machine/turn-effects.ts';
import type { TurnInput } from '../turn/machine/turn-inputs.ts';
import type { StepResult } from '../turn/machine/turn-machine.ts';
import type { Turn, TurnState } from '../turn/machine/turn-state.ts';
import type { CallDeps } from './call.ts';
import { CallerSpeech } from './caller-speech.ts';
import { type EngineTrace, logErrors } from './engine-trace.ts';
import { answerIn, openTurns } from './open-turns.ts';
import { toolContent } from './trace-content.ts';
import { tracedKnowledge, tracedModel } from './traced-model.ts';
import { type Recognition, tracedRecognizer, tracedSynthesizer } from './traced-speech.ts';
import { newTurn, type OpenTurn, outcomeOf, type Part, type Reply, spansOf } from './traced-turn.ts';
import { causeOfCut, fixedLine, givesReportUp, isApology, isHold, isTransferred } from './turn-ends.ts';
import { toolSpan, turnSpan, waterfallSpans } from './turn-spans.ts';

type Engines = Pick<CallDeps, 'recognizer' | 'model' | 'synthesizer' | 'knowledge'>;
type PlayoutEnd = Extract<TurnInput, { type: 'playout.finished' | 'playout.cleared' }>;

/** Receives the reports, steps and engines of one call. */
export interface CallTrace {
  note(report: DurableReport): void;
  /** A step of the turn machine: a fact, the state after it, and effects that are not carried out yet. */
  step(input: TurnInput, result: StepResult): void;
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

/**
 * Traces a call, from now on; does nothing, and leaves the engines as they are, without a tracer. Its
 * functions do not throw: errors are logged.
 */
export function traceCall(
  tracing: Tracing | null,
  plan: CallPlan,
  { clock, logger }: { readonly clock: Clock; readonly logger: Pick<Logger, 'error'> },
): CallTrace {
  const { traceparent } = plan;
  if (!tracing || traceparent === null) return UNTRACED;
  const onError = logErrors(logger, plan);
  return guarded(new TracedCall(tracing, { traceparent, plan, clock, onError }), onError);
}

function guarded(trace: CallTrace, onError: (error: unknown) => void): CallTrace {
  const guard = (work: () => void) => {
    try {
      work();
    } catch (error) {
      onError(error);
    }
  };
  return {
    note: (report) => guard(() => trace.note(report)),
    step: (input, result) => guard(() => trace.step(input, result)),
    engines: (engines) => trace.engines(engines),
    close: () => guard(() => trace.close()),
  };
}

/** A call to trace. */
interface TracedCallDeps {
  readonly traceparent: string;
  readonly plan: CallPlan;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

class TracedCall implements CallTrace {
  readonly #tracing: Tracing;
  readonly #call: TracedCallDeps;
  readonly #startMs: number;
  readonly #turns = new Map<number, OpenTurn>();
  readonly #replies = new Map<string, Reply>();
  readonly #toolInputs = new Map<string, string>();
  readonly #recognition: Recognition = { latest: null };
  readonly #speech: CallerSpeech;
  readonly #engineTrace: EngineTrace;
  #latestReply: string | null = null;
  #latestTurn: Turn | null = null;
  /** Wall time of the end; nothing in the call may seem to end later. */
  #endMs = Number.POSITIVE_INFINITY;

  constructor(tracing: Tracing, call: TracedCallDeps) {
    const { clock, onError, plan } = call;
    this.#tracing = tracing;
    this.#call = call;
    this.#startMs = clock.wallTime();
    // Previews are unrecorded and sent to no webhook: their words are not sent to a collector either.
    const hasContent = tracing.hasContent && !plan.is_preview;
    const common = { [GEN_AI.conversationId]: plan.session_id };
    this.#speech = new CallerSpeech({
      recognition: this.#recognition,
      language: plan.config.voice.speaking_language,
      common,
      hasContent,
      wallMs: (monotonicMs) => this.#wallMs(monotonicMs),
      note: (span, turnId) => this.#noteFor(turnId, { span, reply: null }),
    });
    this.#engineTrace = {
      clock,
      hasContent,
      hidesKeys: plan.press_keys?.hide_keys === true,
      running: new Set(),
      common,
      customModel: plan.config.llm.custom?.model ?? null,
      latestReply: () => this.#latestReply,
      note: (span, replyId) => this.#noteWork(span, replyId),
      onError,
    };
  }

  engines<Own extends Engines>(engines: Own): Own {
    const trace = this.#engineTrace;
    return {
      ...engines,
      recognizer: engines.recognizer && tracedRecognizer(engines.recognizer, this.#recognition),
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
    // A merged turn is measured again: its first reply was not heard.
    else if (report.type === 'turn') this.#turn(report.latency.turn_id).latency = report.latency;
    else if (report.type === 'ended') {
      this.#endMs = Date.parse(report.at);
      this.close();
    }
  }

  step(input: TurnInput, result: StepResult): void {
    const { effects, state } = result;
    for (const effect of effects) this.#noteEffect(effect, input, result);
    if (input.type === 'playout.finished') this.#noteEnd(input, 'completed');
    else if (input.type === 'playout.cleared')
      this.#noteEnd(input, this.#replies.get(input.replyId)?.cutBy ?? causeOfCut(input, result));
    if (givesReportUp(effects)) this.#endCutReplies(input);
    if (isTransferred(input)) this.#noteTransfer(input);
    this.#take(state);
    this.#speech.observe(input, result);
    if (isAnswering(input)) this.#recordOthers(input.replyId, state);
  }

  close(): void {
    for (const end of [...this.#engineTrace.running]) end();
    this.#speech.end();
    for (const turnId of [...this.#turns.keys()]) this.#record(turnId);
  }

  /** A speculative reply is discarded unless it is committed. */
  #noteEffect(effect: Effect, input: TurnInput, result: StepResult): void {
    if (effect.do === 'generate') {
      const { isSpeculative, replyId, turnId } = effect;
      this.#latestReply = replyId;
      const reply = { turnId, line: null, isDiscarded: isSpeculative, isCut: false, cutBy: null };
      this.#replies.set(replyId, reply);
    } else if (effect.do === 'say') this.#noteLine(effect.replyId, result);
    else if (effect.do === 'commit' || effect.do === 'discard') {
      const reply = this.#replies.get(effect.replyId);
      if (reply) reply.isDiscarded = effect.do === 'discard';
    } else if (effect.do === 'clear') {
      const reply = this.#replies.get(effect.replyId);
      if (reply) Object.assign(reply, { isCut: true, cutBy: causeOfCut(input, result) });
    }
  }

  #noteLine(replyId: string, result: StepResult): void {
    const line = fixedLine(replyId, result);
    if (line === null) return;
    const { rule, turnId } = line;
    this.#replies.set(replyId, { turnId, line: rule, isDiscarded: false, isCut: false, cutBy: null });
    if (isApology(rule)) this.#turn(turnId).hasNoAnswer = true;
  }

  #take(state: TurnState): void {
    const turn = answerIn(state)?.turn ?? null;
    if (turn === null || turn === this.#latestTurn) return;
    this.#latestTurn = turn;
    this.#turn(turn.turnId).taken = {
      source: turn.source,
      startMs: this.#wallMs(turn.startMs),
      speechEndMs: this.#wallMs(turn.speechEndMs),
    };
  }

  #noteItem(item: SessionItem): void {
    const { hasContent } = this.#engineTrace;
    if (item.type === 'llm.endpoint_error' && item.turn_id !== null)
      this.#turn(item.turn_id).hasFailed = true;
    if (item.type === 'tool_call' && hasContent) this.#toolInputs.set(item.call_id, item.input);
    if (item.type !== 'tool_result') return;
    const content = hasContent ? toolContent(this.#toolInputs.get(item.call_id) ?? null, item.output) : {};
    this.#toolInputs.delete(item.call_id);
    const span = toolSpan(item, { ...this.#engineTrace.common, ...content });
    this.#noteFor(item.turn_id, { span, reply: null });
  }

  /** Fixed texts and work of the call itself belong to no turn. */
  #noteWork(span: FinishedSpan, replyId: string | null): void {
    const reply = (replyId === null ? undefined : this.#replies.get(replyId)) ?? null;
    this.#noteFor(reply?.turnId ?? null, { span, reply });
  }

  #noteFor(turnId: number | null, part: Part): void {
    if (turnId === null) this.#ofCall(part.span);
    else this.#turn(turnId).parts.push(part);
  }

  #noteEnd({ atMs, replyId }: Pick<PlayoutEnd, 'atMs' | 'replyId'>, reason: TurnEnd | null): void {
    const reply = this.#replies.get(replyId);
    if (!reply) return;
    reply.isCut = false;
    const turn = this.#turn(reply.turnId);
    // The reply that a hold line waited for says how the turn ended.
    const ended = isHold(reply.line) && reason === 'completed' ? (turn.end?.reason ?? null) : reason;
    turn.end = { atMs: this.#wallMs(atMs), reason: ended };
  }

  /** The leg will not report what was heard of them. */
  #endCutReplies({ atMs }: TurnInput): void {
    for (const [replyId, { cutBy, isCut }] of this.#replies)
      if (isCut) this.#noteEnd({ atMs, replyId }, cutBy);
  }

  /** The call may have ended with the transfer. */
  #noteTransfer({ atMs }: TurnInput): void {
    const turn = this.#latestTurn;
    if (turn) this.#turn(turn.turnId).transferredMs ??= this.#wallMs(atMs);
  }

  #turn(turnId: number): OpenTurn {
    const found = this.#turns.get(turnId);
    if (found) return found;
    const turn = newTurn();
    this.#turns.set(turnId, turn);
    return turn;
  }

  /** A turn is being answered: those that the machine is through with are recorded. */
  #recordOthers(replyId: string, state: TurnState): void {
    const answered = this.#replies.get(replyId)?.turnId;
    if (answered === undefined || !this.#turns.get(answered)?.taken) return;
    const { caller, speculation } = state;
    const open = new Set([
      answered,
      ...openTurns(state).map(({ turnId }) => turnId),
      caller.is === 'silent' ? undefined : caller.speech.continues?.turnId,
      speculation === null ? undefined : this.#replies.get(speculation.generation.replyId)?.turnId,
    ]);
    for (const turnId of [...this.#turns.keys()]) if (!open.has(turnId)) this.#record(turnId);
  }

  /** The work of a turn that was never taken becomes part of the call's span. */
  #record(turnId: number): void {
    this.#speech.endOf(turnId);
    const turn = this.#turn(turnId);
    this.#turns.delete(turnId);
    for (const [replyId, reply] of this.#replies) if (reply.turnId === turnId) this.#replies.delete(replyId);
    const { latency, taken, usage } = turn;
    const speechEndMs = latency === null ? taken?.speechEndMs : Date.parse(latency.speech_ended_at);
    const startMs = taken?.startMs ?? Number.NEGATIVE_INFINITY;
    const within: FinishedSpan[] = [];
    for (const part of spansOf(turn)) {
      // A speculation on words that were dropped: the turn got its number later.
      if (speechEndMs === undefined || part.endMs < startMs) this.#ofCall(part);
      else within.push(part);
    }
    if (speechEndMs === undefined) return;
    const facts = { turnId, source: taken?.source ?? null, speechEndMs, latency, usage, ...outcomeOf(turn) };
    const parent = this.#ofCall(turnSpan(facts, within, this.#call.plan));
    const parts = latency === null ? [] : waterfallSpans(speechEndMs, latency);
    for (const span of [...parts, ...within]) this.#within(parent, span);
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

/** True once an answer is far enough that the work given up for it has ended. */
function isAnswering(input: TurnInput): input is Extract<TurnInput, { replyId: string }> {
  return (
    input.type === 'reply.generated' ||
    input.type === 'reply.failed' ||
    input.type === 'playout.started' ||
    input.type === 'playout.finished' ||
    input.type === 'playout.cleared'
  );
}
