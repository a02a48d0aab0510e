/**
 * A `LanguageModel` over the Vercel AI SDK: our messages and tools in its form, its stream and errors in ours.
 * The SDK neither retries nor runs tools here: both are the turn loop's business.
 */
import { APICallError, jsonSchema, type ModelMessage, type LanguageModel as SdkModel, streamText, type TextStreamPart, type ToolSet, tool } from 'ai';
import { type ChatDelta, type ChatMessage, type ChatRequest, type LanguageModel, ModelError, type ToolDefinition } from './llm.ts';
import { ModelStalled } from './stalled-fetch.ts';

// The SDK prints its warnings about every request to the console; the product's log is written elsewhere.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

/** How one vendor's model is reached. */
export interface SdkModelOptions {
  readonly id: string;
  readonly isCustom: boolean;
  /** The SDK's model for one request; `headers` and body extras may depend on it. */
  readonly modelFor: (request: ChatRequest) => SdkModel;
  readonly headersFor?: (request: ChatRequest) => Record<string, string>;
  /** The vendor refuses a conversation that does not begin with the user. */
  readonly startsWithUser: boolean;
}

/** Vendors that cache prompts only where they are told to: the first system message stays the same for the whole call (runtime/prompt.ts). Others ignore it. */
const CACHED_PREFIX = { anthropic: { cacheControl: { type: 'ephemeral' } } } as const;

/** Wraps a vendor's model. */
export function createSdkModel(options: SdkModelOptions): LanguageModel {
  return { id: options.id, isCustom: options.isCustom, stream: (request) => generate(options, request) };
}

/** Throws `ModelError`, or the signal's reason when it is aborted. Leaving the iteration aborts the request. */
async function* generate(options: SdkModelOptions, request: ChatRequest): AsyncGenerator<ChatDelta> {
  const left = new AbortController();
  try {
    const result = streamText({
      model: options.modelFor(request),
      messages: toSdkMessages(request.messages, options.startsWithUser),
      allowSystemInMessages: true,
      tools: toSdkTools(request.tools),
      maxRetries: 0,
      abortSignal: AbortSignal.any([request.signal, left.signal]),
      headers: options.headersFor?.(request) ?? {},
      // Errors come as parts of the stream; the SDK's default prints them.
      onError: () => {},
      ...(request.maxOutputTokens === null ? {} : { maxOutputTokens: request.maxOutputTokens }),
    });
    for await (const part of result.fullStream) {
      const delta = toDelta(part);
      if (delta) yield delta;
      if (delta?.type === 'finish') return;
    }
    throw new ModelError('The model broke off its answer', { retryable: true });
  } catch (error) {
    if (request.signal.aborted) throw request.signal.reason;
    throw toModelError(error);
  } finally {
    left.abort();
  }
}

/** What a part of the SDK's stream means to us; null for the parts we have no use for. Throws what an error part carries. */
function toDelta(part: TextStreamPart<ToolSet>): ChatDelta | null {
  switch (part.type) {
    case 'error':
      throw part.error;
    case 'text-delta':
      return part.text === '' ? null : { type: 'text', text: part.text };
    case 'tool-call':
      return { type: 'tool_call', call: { callId: part.toolCallId, toolName: part.toolName, input: inputText(part.input) } };
    case 'finish': {
      if (part.finishReason === 'error') throw new ModelError('The model ended its answer with an error', { retryable: true });
      const { inputTokens, outputTokens, inputTokenDetails } = part.totalUsage;
      const cachedInputTokens = inputTokenDetails.cacheReadTokens ?? null;
      return { type: 'finish', usage: { inputTokens: inputTokens ?? null, outputTokens: outputTokens ?? null, cachedInputTokens } };
    }
    default:
      return null;
  }
}

function toModelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  if (error instanceof ModelStalled || (error instanceof Error && error.cause instanceof ModelStalled)) {
    const stalled = error instanceof ModelStalled ? error : (error.cause as ModelStalled);
    return new ModelError(stalled.message, { retryable: true, cause: error });
  }
  if (APICallError.isInstance(error) && error.statusCode !== undefined) {
    const refused = error.statusCode >= 400;
    const message = refused ? `The model answered HTTP ${error.statusCode}` : 'The model sent something that is not its protocol';
    return new ModelError(message, { retryable: !refused || error.isRetryable, status: error.statusCode, cause: error });
  }
  // The message of a network error may name addresses and is kept as the cause only.
  return new ModelError('The model could not be reached or broke off its answer', { retryable: true, cause: error });
}

function toSdkTools(tools: readonly ToolDefinition[]): ToolSet {
  return Object.fromEntries(
    tools.map((definition) => {
      const properties = Object.fromEntries(
        definition.arguments.map((argument) => [argument.name, { type: 'string' as const, description: argument.description }]),
      );
      const inputSchema = jsonSchema<Record<string, unknown>>({ type: 'object', properties });
      return [definition.name, tool({ description: definition.description, inputSchema })];
    }),
  );
}

function toSdkMessages(messages: readonly ChatMessage[], startsWithUser: boolean): ModelMessage[] {
  const converted = messages.map(toSdkMessage);
  if (converted[0]?.role === 'system') converted[0] = { ...converted[0], providerOptions: CACHED_PREFIX };
  const first = converted.findIndex((message) => message.role !== 'system');
  if (!startsWithUser || (first !== -1 && converted[first]?.role === 'user')) return converted;
  const opening: ModelMessage = { role: 'user', content: '(The call is connected.)' };
  return first === -1 ? [...converted, opening] : converted.toSpliced(first, 0, opening);
}

function toSdkMessage(message: ChatMessage): ModelMessage {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content };
    case 'tool': {
      const output = { type: 'text' as const, value: message.content };
      return { role: 'tool', content: [{ type: 'tool-result', toolCallId: message.callId, toolName: message.toolName, output }] };
    }
    case 'assistant': {
      const calls = (message.toolCalls ?? []).map((call) => ({
        type: 'tool-call' as const,
        toolCallId: call.callId,
        toolName: call.toolName,
        input: parsedInput(call.input),
      }));
      const text = message.content === '' ? [] : [{ type: 'text' as const, text: message.content }];
      return { role: 'assistant', content: [...text, ...calls] };
    }
  }
}

function inputText(input: unknown): string {
  return typeof input === 'string' ? input : JSON.stringify(input ?? {});
}

function parsedInput(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return {};
  }
}
