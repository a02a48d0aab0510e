/**
 * A `LanguageModel` over the providers of the Vercel AI SDK. Converts our messages and tools to their form,
 * and their stream and errors to ours. Calls the providers directly: the SDK's upper layer (`streamText`)
 * runs tools, retries and steps, which are the turn loop's job here, and costs more CPU than the request
 * itself.
 */
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4FinishReason,
  type LanguageModelV4FunctionTool,
  type LanguageModelV4Message,
  type LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { LIMITS } from '#config/limits.ts';
import {
  type ChatDelta,
  type ChatMessage,
  type ChatRequest,
  type FinishReason,
  type LanguageModel,
  ModelError,
  type ToolDefinition,
} from './llm.ts';
import { ModelStalled } from './stalled-fetch.ts';

/** How to reach one vendor's model. */
export interface SdkModelOptions {
  readonly id: string;
  readonly isCustom: boolean;
  /** The SDK model for one request; `headers` and extra body fields may depend on the request. */
  readonly modelFor: (request: ChatRequest) => LanguageModelV4;
  readonly headersFor?: (request: ChatRequest) => Record<string, string>;
  /** True if the vendor rejects a conversation that does not begin with the user. */
  readonly startsWithUser: boolean;
}

/**
 * For vendors that cache prompts only on request: the first system message is the same for the whole call
 * (runtime/prompt/prompt.ts). Others ignore this.
 */
const CACHED_PREFIX = { anthropic: { cacheControl: { type: 'ephemeral' } } } as const;

const FINISH_REASONS: Readonly<
  Record<Exclude<LanguageModelV4FinishReason['unified'], 'error'>, FinishReason>
> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_call',
  interrupted: 'interrupted',
  other: 'other',
};

/** Shared: capturing a stack would be the most expensive part of abandoning an answer. */
const LEFT = new Error('the answer is no longer wanted');

/** Wraps a vendor's model. */
export function createSdkModel(options: SdkModelOptions): LanguageModel {
  return { id: options.id, isCustom: options.isCustom, stream: (request) => generate(options, request) };
}

/** Throws `ModelError`, or the signal's reason when it aborts. Leaving the iteration aborts the request. */
async function* generate(options: SdkModelOptions, request: ChatRequest): AsyncGenerator<ChatDelta> {
  const left = new AbortController();
  let isWhole = false;
  try {
    const { stream } = await options.modelFor(request).doStream({
      prompt: toPrompt(request.messages, options.startsWithUser),
      abortSignal: AbortSignal.any([request.signal, left.signal]),
      headers: options.headersFor?.(request) ?? {},
      ...(request.tools.length === 0
        ? {}
        : { tools: request.tools.map(toSdkTool), toolChoice: { type: 'auto' } }),
      ...(request.maxOutputTokens === null ? {} : { maxOutputTokens: request.maxOutputTokens }),
    });
    const budget = new ToolCallBudget();
    for await (const part of stream) {
      budget.add(part);
      const delta = toDelta(part);
      isWhole = delta?.type === 'finish';
      if (delta) yield delta;
      if (isWhole) return;
    }
    throw new ModelError('The model interrupted its answer', { retryable: true });
  } catch (error) {
    if (request.signal.aborted) throw request.signal.reason;
    throw toModelError(error);
  } finally {
    if (!isWhole) left.abort(LEFT);
  }
}

/**
 * Limits the tool calls of one answer: every stream part is matched against all of them, and their arguments
 * are parsed at once.
 */
class ToolCallBudget {
  #calls = 0;
  #chars = 0;

  /**
   * Counts one part of the answer. Throws `ModelError` when there are too many calls or their arguments are
   * too long.
   */
  add(part: LanguageModelV4StreamPart): void {
    if (part.type === 'tool-input-start') this.#calls += 1;
    if (part.type === 'tool-input-delta') this.#chars += part.delta.length;
    if (this.#calls > LIMITS.modelToolCalls || this.#chars > LIMITS.modelToolChars)
      throw new ModelError('The model’s tool calls are above the limit', { retryable: false });
  }
}

/**
 * Converts a part of a provider's stream; null for parts we do not use. Throws the error of an error part.
 */
function toDelta(part: LanguageModelV4StreamPart): ChatDelta | null {
  switch (part.type) {
    case 'error':
      throw part.error;
    case 'text-delta':
      return part.delta === '' ? null : { type: 'text', text: part.delta };
    case 'tool-call':
      return {
        type: 'tool_call',
        call: { callId: part.toolCallId, toolName: part.toolName, input: compactInput(part.input) },
      };
    case 'finish': {
      const { unified } = part.finishReason;
      if (unified === 'error')
        throw new ModelError('The model ended its answer with an error', { retryable: true });
      const { inputTokens, outputTokens } = part.usage;
      return {
        type: 'finish',
        usage: {
          inputTokens: inputTokens.total ?? null,
          outputTokens: outputTokens.total ?? null,
          cachedInputTokens: inputTokens.cacheRead ?? null,
        },
        finishReason: FINISH_REASONS[unified],
      };
    }
    default:
      return null;
  }
}

function toModelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  if (error instanceof Error && error.cause instanceof ModelError) return error.cause;
  if (error instanceof ModelStalled || (error instanceof Error && error.cause instanceof ModelStalled)) {
    const stalled = error instanceof ModelStalled ? error : (error.cause as ModelStalled);
    return new ModelError(stalled.message, { retryable: true, cause: error });
  }
  if (APICallError.isInstance(error) && error.statusCode !== undefined) {
    const refused = error.statusCode >= 400;
    const message = refused
      ? `The model answered HTTP ${error.statusCode}`
      : 'The model’s answer does not follow the protocol';
    return new ModelError(message, {
      retryable: !refused || error.isRetryable,
      status: error.statusCode,
      cause: error,
    });
  }
  // A network error's message may contain addresses, so it is kept as the cause only.
  return new ModelError('The model could not be reached, or the connection broke', {
    retryable: true,
    cause: error,
  });
}

function toSdkTool({
  name,
  description,
  arguments: args,
  inputSchema,
}: ToolDefinition): LanguageModelV4FunctionTool {
  if (inputSchema) return { type: 'function', name, description, inputSchema };
  const properties = Object.fromEntries(
    args.map((argument) => [argument.name, { type: 'string' as const, description: argument.description }]),
  );
  return { type: 'function', name, description, inputSchema: { type: 'object', properties } };
}

function toPrompt(messages: readonly ChatMessage[], startsWithUser: boolean): LanguageModelV4Message[] {
  const prompt: LanguageModelV4Message[] = [];
  for (const message of messages.map(toSdkMessage)) {
    const last = prompt.at(-1);
    // Results of parallel calls form one message.
    if (last?.role === 'tool' && message.role === 'tool') last.content.push(...message.content);
    else prompt.push(message);
  }
  if (prompt[0]?.role === 'system') prompt[0].providerOptions = CACHED_PREFIX;
  const first = prompt.findIndex(({ role }) => role !== 'system');
  if (!startsWithUser || prompt[first]?.role === 'user') return prompt;
  const opening: LanguageModelV4Message = {
    role: 'user',
    content: [{ type: 'text', text: '(The call is connected.)' }],
  };
  return first === -1 ? [...prompt, opening] : prompt.toSpliced(first, 0, opening);
}

function toSdkMessage(message: ChatMessage): LanguageModelV4Message {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content };
    case 'user':
      return { role: 'user', content: [{ type: 'text', text: message.content }] };
    case 'tool': {
      const output = { type: 'text' as const, value: message.content };
      return {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: message.callId, toolName: message.toolName, output }],
      };
    }
    case 'assistant': {
      const calls = (message.toolCalls ?? []).map((call) => ({
        type: 'tool-call' as const,
        toolCallId: call.callId,
        toolName: call.toolName,
        input: parsedInput(call.input) ?? {},
      }));
      const text = message.content === '' ? [] : [{ type: 'text' as const, text: message.content }];
      return { role: 'assistant', content: [...text, ...calls] };
    }
    default:
      return message satisfies never;
  }
}

/** Arguments in canonical JSON, so that equal calls compare equal. Invalid JSON stays as it is. */
function compactInput(input: string): string {
  if (input.trim() === '') return '{}';
  const parsed = parsedInput(input);
  return parsed === undefined ? input : JSON.stringify(parsed);
}

function parsedInput(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return undefined;
  }
}
