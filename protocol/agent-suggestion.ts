/**
 * A new agent suggested by a language model from one sentence. The control plane asks a worker, which asks
 * the model; what the model writes is untrusted, so both parse it with this schema.
 */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import { localModel } from '#config/local-models.ts';

const text = (chars: number) => z.string().trim().min(1).max(chars);

/**
 * The suggestion: no text has more characters than the API's field for it. The worker also applies the API's
 * rules of prompts, for tokens and placeholders.
 */
export const agentSuggestion = z.object({
  name: text(LIMITS.agentNameChars),
  system_prompt: text(8_000),
  first_message: text(500),
  tests: z.array(z.object({ name: text(120), caller_says: text(500), expectation: text(400) })).max(5),
});

/** What a worker needs for it. */
export const suggestionRequest = z.object({
  description: z.string(),
  /** `<provider>/<model>`. */
  model: z.string(),
  local_models: z.array(localModel),
});
export type SuggestionRequest = z.output<typeof suggestionRequest>;

/** A worker's answer: a suggestion, or why there is none and what to do. The price counts in both cases. */
export const suggestionOutcome = z.object({
  suggestion: agentSuggestion.nullable(),
  error: z.string().max(500).nullable(),
  /** List price of the model's answers, micro-dollars. */
  cost_micros: z.number().int().nonnegative(),
});
export type SuggestionOutcome = z.output<typeof suggestionOutcome>;
