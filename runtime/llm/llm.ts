/**
 * The contract of language models as the turn loop uses them: a streamed chat with tools.
 * Implemented over the Vercel AI SDK for vendors and `llm.custom`, and by the rule-based `local/demo`.
 */

/** A message of the conversation as the model is shown it. */
export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly toolCalls?: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly callId: string; readonly toolName: string; readonly content: string };

/** A function call asked for by the model; `input` is the JSON text of its arguments. */
export interface ToolCall {
  readonly callId: string;
  readonly toolName: string;
  readonly input: string;
}

/** A function offered to the model. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** Every argument is a string the model fills. */
  readonly arguments: readonly { readonly name: string; readonly description: string }[];
}

/** One generation. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDefinition[];
  readonly maxOutputTokens: number | null;
  /** Sent to custom models only. */
  readonly sessionId: string;
  readonly endUserId: string | null;
  readonly extraBody: Readonly<Record<string, unknown>> | null;
  /** True while the turn is not committed; a custom model's request says so in a header. */
  readonly speculative: boolean;
  readonly signal: AbortSignal;
}

/** What a generation yields, in order; `finish` is always last unless it throws. */
export type ChatDelta =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_call'; readonly call: ToolCall }
  /** `modelId` tells which model it was where that is not the one that was asked. */
  | { readonly type: 'finish'; readonly usage: ChatUsage; readonly modelId?: string };

/** Tokens of one generation; null where the model does not tell. */
export interface ChatUsage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedInputTokens: number | null;
}

/** Why a model failed, independent of the vendor. */
export class ModelError extends Error {
  readonly retryable: boolean;
  readonly status: number | null;

  constructor(message: string, options: { retryable: boolean; status?: number | null; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = 'ModelError';
    this.retryable = options.retryable;
    this.status = options.status ?? null;
  }
}

/** A language model. */
export interface LanguageModel {
  /** `<provider>/<model>`, or `custom`. */
  readonly id: string;
  /**
   * True for `llm.custom`: no hedged second attempt, ten seconds to its first byte, never replaced by
   * another.
   */
  readonly isCustom: boolean;
  /** Throws `ModelError`. */
  stream(request: ChatRequest): AsyncIterable<ChatDelta>;
}
