/**
 * A model of a server on the operator's machine. It is neither hedged nor replaced: a second request would
 * slow a server that has one processor, and a vendor would get what was meant to stay on this machine.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { Clock } from '#base/clock.ts';
import type { LocalModel } from '#config/local-models.ts';
import type { ChatMessage, ChatRequest, LanguageModel } from '../llm.ts';
import { createSdkModel } from '../sdk-model.ts';
import { sendOnce } from '../send-request.ts';
import { withProgressDeadline } from '../stalled-fetch.ts';

/** Options of a local model. */
export interface LocalModelOptions {
  readonly model: LocalModel;
  readonly clock: Clock;
  /** It fails after this long without a byte. */
  readonly stallMs: number;
}

/** Creates the model. */
export function createLocalModel({ model, clock, stallMs }: LocalModelOptions): LanguageModel {
  const fetch = withProgressDeadline(sendOnce, clock, stallMs);
  const sdk = createSdkModel({
    id: model.id,
    isCustom: false,
    modelFor: () =>
      createOpenAICompatible({ name: 'local', baseURL: model.base_url, fetch, includeUsage: true })(
        model.name,
      ),
    // Many chat templates fail unless the user begins.
    startsWithUser: true,
  });
  return {
    ...sdk,
    ...(model.context_tokens === null ? {} : { contextTokens: model.context_tokens }),
    stream: (request) => sdk.stream(understood(request, model)),
  };
}

/** Many chat templates fail on a second system message; some servers refuse tools for some models. */
function understood(request: ChatRequest, { tools }: LocalModel): ChatRequest {
  return {
    ...request,
    messages: withOneSystemMessage(request.messages),
    tools: tools === 'refused' ? [] : request.tools,
  };
}

function withOneSystemMessage(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const first = messages.findIndex(({ role }) => role !== 'system');
  const count = first === -1 ? messages.length : first;
  if (count < 2) return messages;
  const content = messages
    .slice(0, count)
    .map((message) => message.content)
    .join('\n\n');
  return [{ role: 'system', content }, ...messages.slice(count)];
}
