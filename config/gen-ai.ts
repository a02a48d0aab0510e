/**
 * Names of OpenTelemetry's conventions for generative AI (open-telemetry/semantic-conventions-genai v0.1.0,
 * and its pull request 390 on voice agents). They are in development: every name is here, and nowhere else.
 */
import { z } from 'zod';
import { DEMO_MODEL_ID } from './language-models.ts';

/** Values of `GEN_AI.operation`; a span's name begins with one. */
export const OPERATION = {
  agent: 'invoke_agent',
  chat: 'chat',
  tool: 'execute_tool',
  retrieval: 'retrieval',
  recognition: 'speech_to_text',
  synthesis: 'text_to_speech',
} as const;

/** Attributes of spans. */
export const GEN_AI = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  conversationId: 'gen_ai.conversation.id',
  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',
  endReason: 'gen_ai.agent.invocation.end_reason',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  /** A list: one for each answer that was asked for. */
  finishReasons: 'gen_ai.response.finish_reasons',
  stream: 'gen_ai.request.stream',
  /** Seconds. */
  firstChunk: 'gen_ai.response.time_to_first_chunk',
  outputType: 'gen_ai.output.type',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedTokens: 'gen_ai.usage.cache_read.input_tokens',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCallId: 'gen_ai.tool.call.id',
  voice: 'gen_ai.speech.voice',
  spokenLanguage: 'gen_ai.speech.input.language',
  errorType: 'error.type',
  httpStatus: 'http.response.status_code',
} as const;

/** Attributes with content: only sent if the operator wants it. */
export const GEN_AI_CONTENT = {
  instructions: 'gen_ai.system_instructions',
  input: 'gen_ai.input.messages',
  output: 'gen_ai.output.messages',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  query: 'gen_ai.retrieval.query.text',
  documents: 'gen_ai.retrieval.documents',
} as const;

const CAPTURES = ['NO_CONTENT', 'SPAN_ONLY', 'EVENT_ONLY', 'SPAN_AND_EVENT'] as const;

/** `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`: where content may be sent. */
export const contentCapture = z
  .string()
  .transform((value) => value.toUpperCase())
  .pipe(z.enum(CAPTURES, `must be ${CAPTURES.slice(0, -1).join(', ')} or ${CAPTURES.at(-1)}`))
  .prefault('NO_CONTENT');

/** Whether spans may have content. Parley sends no events. */
export function capturesInSpans(capture: z.output<typeof contentCapture> | undefined): boolean {
  return capture === 'SPAN_ONLY' || capture === 'SPAN_AND_EVENT';
}

/** How an invocation of an agent, or one of its turns, ended. */
export type InvocationEnd = 'completed' | 'interrupted' | 'session_closed';

/** Ends of a turn that the conventions have no name for: something else than the caller cut its reply. */
export const OWN_ENDS = ['leg_lost', 'stalled', 'taken_over', 'transferred'] as const;
export type TurnEnd = InvocationEnd | (typeof OWN_ENDS)[number];

/** Providers that the conventions name otherwise. */
const PROVIDERS: Readonly<Record<string, string>> = { google: 'gcp.gemini' };

/** A vendor and the model asked of it. */
export interface AskedModel {
  readonly provider: string;
  /** Null: none was named. */
  readonly model: string | null;
  /** It runs in this process, without a request over the network. */
  readonly isInProcess: boolean;
}

/** A language model: `<provider>/<model>`, or `custom` for `customModel` on a tenant's own server. */
export function askedLanguageModel(id: string, customModel: string | null): AskedModel {
  const [provider = '', ...model] = id.split('/');
  return { ...askedOf(provider, model.join('/') || customModel), isInProcess: id === DEMO_MODEL_ID };
}

/** A speech engine: `<provider>`, `<provider>:<model>`, or `custom:<hash>` on an agent's own server. */
export function askedSpeechEngine(id: string): AskedModel {
  const [provider = '', ...model] = id.split(':');
  const name = provider === 'custom' ? null : model.join(':') || null;
  return { ...askedOf(provider, name), isInProcess: provider === 'local' };
}

/** A span's name: its operation, and what it is done with or by, if that has a name. */
export function spanName(operation: string, of: string | null): string {
  return of === null ? operation : `${operation} ${of}`;
}

function askedOf(provider: string, model: string | null): Omit<AskedModel, 'isInProcess'> {
  return { provider: PROVIDERS[provider] ?? provider, model };
}
