/** Requests to any worker that are answered with a language model. */
import { z } from 'zod';
import { suggestionRequest } from './agent-suggestion.ts';
import { testCallQuestion } from './test-call-question.ts';

export const MODEL_REQUESTS = [
  /** Suggest a new agent; answered with a `SuggestionOutcome`. */
  z.object({ type: z.literal('suggest_agent'), request_id: z.string(), request: suggestionRequest }),
  /** Answer a question about a test call; answered with a `TestCallOutcome`. */
  z.object({ type: z.literal('ask_of_test_call'), request_id: z.string(), question: testCallQuestion }),
] as const;
