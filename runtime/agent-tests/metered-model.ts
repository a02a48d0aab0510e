/** Counts what a model costs. */
import { costOf } from '#config/language-models.ts';
import type { LanguageModel } from '#runtime/llm/llm.ts';

/** The same model; `onCost` gets the list price of each answer in micro-dollars. */
export function meteredModel(model: LanguageModel, onCost: (micros: number) => void): LanguageModel {
  return {
    id: model.id,
    isCustom: model.isCustom,
    async *stream(request) {
      for await (const delta of model.stream(request)) {
        if (delta.type === 'finish') onCost(costOf(delta.modelId ?? model.id, delta.usage));
        yield delta;
      }
    },
  };
}
