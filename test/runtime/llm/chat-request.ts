import type { ChatRequest } from '#runtime/llm/llm.ts';

/** A minimal model request, with changes. */
export function chatRequest(over: Partial<ChatRequest> = {}): ChatRequest {
  return {
    messages: [{ role: 'user', content: 'hello' }],
    tools: [],
    maxOutputTokens: null,
    sessionId: 's1',
    endUserId: null,
    extraBody: null,
    speculative: false,
    signal: new AbortController().signal,
    ...over,
  };
}
