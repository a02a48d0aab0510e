/** The trace of the analysis after a call: a span, with its generations below it. */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { GEN_AI } from '#config/gen-ai.ts';
import type { FinishedSpan, Tracing } from '#config/tracing.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { LanguageModel } from '../llm/llm.ts';
import { type EngineTrace, logErrors } from './engine-trace.ts';
import { tracedModel } from './traced-model.ts';

/** Receives the generations and the end of one analysis. */
export interface AnalysisTrace {
  /** The model, traced. */
  model(model: LanguageModel): LanguageModel;
  /** The analysis is over. */
  end(error: string | null): void;
}

const UNTRACED: AnalysisTrace = { model: (model) => model, end: () => undefined };

/** Traces an analysis, from now on; does nothing, and leaves the model as it is, without a tracer. */
export function traceAnalysis(
  tracing: Tracing | null,
  plan: CallPlan,
  { clock, logger }: { readonly clock: Clock; readonly logger: Pick<Logger, 'error'> },
): AnalysisTrace {
  if (tracing === null) return UNTRACED;
  const [startMs, begunMs] = [clock.wallTime(), clock.now()];
  const generations: FinishedSpan[] = [];
  const attributes = { [GEN_AI.conversationId]: plan.session_id };
  const trace: EngineTrace = {
    clock,
    hasContent: tracing.hasContent && !plan.is_preview,
    // An analysis presses none.
    hidesKeys: false,
    running: new Set(),
    common: attributes,
    customModel: plan.config.llm.custom?.model ?? null,
    latestReply: () => null,
    note: (span) => generations.push(span),
    onError: logErrors(logger, plan),
  };
  return {
    model: (model) => tracedModel(model, trace),
    end(error) {
      for (const end of [...trace.running]) end();
      const endMs = startMs + (clock.now() - begunMs);
      const { traceparent } = plan;
      const parent = tracing.record({
        name: 'analysis',
        startMs,
        endMs,
        parent: traceparent,
        attributes,
        error,
      });
      for (const span of generations) tracing.record({ ...span, parent });
    },
  };
}
