/** The trace of engines' work: each piece is a span from the moment it was asked for to its end. */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { GEN_AI } from '#config/gen-ai.ts';
import type { FinishedSpan, SpanAttributes } from '#config/tracing.ts';
import { SpeechError } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { ModelError } from '../llm/llm.ts';

/** The trace that engines note their work in. */
export interface EngineTrace {
  readonly clock: Clock;
  /** Whether spans contain what was said. */
  readonly hasContent: boolean;
  /** Keys that the agent presses are hidden. */
  readonly hidesKeys: boolean;
  /** Work in progress: each function ends the span of one piece of it. */
  readonly running: Set<() => void>;
  /** Attributes of every span. */
  readonly common: SpanAttributes;
  /** The model of the tenant's own server; null without one. */
  readonly customModel: string | null;
  /** The reply that was asked for last. */
  latestReply(): string | null;
  /** Records a piece of work, done for a reply or for the call. */
  note(span: FinishedSpan, replyId: string | null): void;
  /** Receives errors of the trace itself: the work goes on. */
  onError(error: unknown): void;
}

/** A span without its times. */
export type Described = Omit<FinishedSpan, 'startMs' | 'endMs'>;

/**
 * Begins a piece of work. The returned function ends it; a second end changes nothing. Its duration is
 * monotonic: the wall clock may be set meanwhile.
 */
export function begin(
  trace: EngineTrace,
  replyId: string | null,
  describe: (failure: unknown) => Described,
): (failure: unknown) => void {
  const { clock } = trace;
  const [startMs, begunMs] = [clock.wallTime(), clock.now()];
  const end = (failure: unknown = null) => {
    if (!trace.running.delete(end)) return;
    const endMs = startMs + (clock.now() - begunMs);
    try {
      const { attributes, ...span } = describe(failure);
      trace.note({ ...span, startMs, endMs, attributes: { ...trace.common, ...attributes } }, replyId);
    } catch (error) {
      trace.onError(error);
    }
  };
  trace.running.add(end);
  return end;
}

/** Passes on a stream of work, and ends its span with it: complete, failed, or broken off. */
export async function* endingWith<Given>(
  stream: AsyncIterable<Given>,
  end: (failure: unknown) => void,
  signal: AbortSignal,
): AsyncGenerator<Given> {
  let failure: unknown = null;
  try {
    yield* stream;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    end(signal.aborted ? null : failure);
  }
}

/** Logs errors of a trace. */
export function logErrors(
  logger: Pick<Logger, 'error'>,
  { session_id: sessionId }: Pick<CallPlan, 'session_id'>,
): (error: unknown) => void {
  return (error) => logger.error({ err: error, sessionId }, 'part of a trace is lost');
}

/** Attributes of a failure. */
export function failureAttributes(error: unknown): SpanAttributes {
  return {
    [GEN_AI.errorType]: failureType(error),
    [GEN_AI.httpStatus]: error instanceof ModelError ? error.status : null,
  };
}

/** A short name of a failure: its message may quote the caller. */
export function failureType(error: unknown): string | null {
  if (error === null) return null;
  if (error instanceof SpeechError) return error.category;
  if (error instanceof ModelError && error.status !== null) return String(error.status);
  return error instanceof Error ? error.name : '_OTHER';
}
