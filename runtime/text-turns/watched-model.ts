/** Tells what a model writes and what it costs, while the model answers as before. */
import { costOf } from '#config/language-models.ts';
import { type ChatDelta, type ChatUsage, type LanguageModel, ModelError } from '#runtime/llm/llm.ts';

/** Called for the answers of a model. */
export interface ModelWatch {
  onText?(text: string): void;
  /** Called with the model that really answered. */
  onAnswered?(modelId: string, usage: ChatUsage): void;
}

/**
 * The same model. An answer that breaks off after its beginning has been told is not retryable: a second one
 * would begin anew.
 */
export function watchedModel(model: LanguageModel, watch: ModelWatch): LanguageModel {
  return {
    id: model.id,
    isCustom: model.isCustom,
    ...(model.contextTokens === undefined ? {} : { contextTokens: model.contextTokens }),
    async *stream(request) {
      const told = { isBegun: false };
      try {
        for await (const delta of model.stream(request)) {
          tell(delta, { watch, modelId: model.id, told });
          yield delta;
        }
      } catch (error) {
        if (!told.isBegun || !(error instanceof ModelError)) throw error;
        throw new ModelError(error.message, { retryable: false, status: error.status, cause: error });
      }
    },
  };
}

function tell(
  delta: ChatDelta,
  { watch, modelId, told }: { watch: ModelWatch; modelId: string; told: { isBegun: boolean } },
): void {
  if (delta.type === 'finish') watch.onAnswered?.(delta.modelId ?? modelId, delta.usage);
  if (delta.type !== 'text' || delta.text === '' || !watch.onText) return;
  told.isBegun = true;
  watch.onText(delta.text);
}

/** The same model; `onCost` gets the list price of each answer in micro-dollars. */
export function meteredModel(model: LanguageModel, onCost: (micros: number) => void): LanguageModel {
  return watchedModel(model, { onAnswered: (modelId, usage) => onCost(costOf(modelId, usage)) });
}
