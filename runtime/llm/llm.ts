/**
 * The contract of language models for the turn loop: a streamed chat with tools. Implemented over the Vercel
 * AI SDK for vendors and `llm.custom`, and by the rule-based `local/demo`.
 */

/** A message of the conversation in the form the model sees. */
export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly toolCalls?: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly callId: string; readonly toolName: string; readonly content: string };

/** A function call by the model; `input` is the JSON text of its arguments. */
export interface ToolCall {
  readonly callId: string;
  readonly toolName: string;
  readonly input: string;
}

/** A function offered to the model. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** Every argument is a string filled by the model. */
  readonly arguments: readonly { readonly name: string; readonly description: string }[];
  /** JSON schema of the arguments, instead of `arguments`. */
  readonly inputSchema?: Readonly<Record<string, unknown>>;
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
  /** True until the turn is committed; sent to custom models as a header. */
  readonly speculative: boolean;
  /** The reply it is for; absent for work of the call itself. Names it in traces. */
  readonly replyId?: string;
  readonly signal: AbortSignal;
}

/** What a generation yields, in order; `finish` is last unless the generation throws. */
export type ChatDelta =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_call'; readonly call: ToolCall }
  /** `modelId` is set when another model than the requested one answered. */
  | {
      readonly type: 'finish';
      readonly usage: ChatUsage;
      readonly modelId?: string;
      /** Absent: the model does not report it. */
      readonly finishReason?: FinishReason;
    };

/** Why a model stopped writing. */
export type FinishReason = 'stop' | 'length' | 'content_filter' | 'tool_call' | 'interrupted' | 'other';

/** Tokens of one generation; null where the model does not report them. */
export interface ChatUsage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedInputTokens: number | null;
}

/** A model failure, independent of the vendor. */
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

/** No request was sent: there is no model to ask. */
export class ModelMissing extends ModelError {
  constructor(message: string) {
    super(message, { retryable: false });
  }
}

/** A language model. */
export interface LanguageModel {
  /** `<provider>/<model>`, or `custom`. */
  readonly id: string;
  /**
   * True for `llm.custom`: no hedged second attempt, ten seconds to the first byte, never replaced by another
   * model.
   */
  readonly isCustom: boolean;
  /** Size of its context in tokens, where its server has said it; otherwise `contextTokensOf` the id. */
  readonly contextTokens?: number;
  /** Throws `ModelError`. */
  stream(request: ChatRequest): AsyncIterable<ChatDelta>;
}
