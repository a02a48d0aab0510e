/**
 * `llm.custom`: a tenant's own OpenAI-compatible endpoint, reached through the egress guard.
 * It has ten seconds to its first byte and between bytes, and is never replaced by another model.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { ChatRequest, LanguageModel } from './llm.ts';
import { createSdkModel } from './sdk-model.ts';
import { sendByFetch } from './send-request.ts';
import { withProgressDeadline } from './stalled-fetch.ts';

const STALL_MS = 10_000;

/** Set to `true` on a request made before the caller's turn is certain to be over. */
const SPECULATIVE_HEADER = 'X-Service-Speculative';

/** Options of a custom model. */
export interface CustomModelOptions {
  readonly custom: NonNullable<CallPlan['config']['llm']['custom']>;
  readonly apiKey: string | null;
  readonly egress: EgressGuard;
  readonly clock: Clock;
}

/** Creates the model of one call. */
export function createCustomModel({ custom, apiKey, egress, clock }: CustomModelOptions): LanguageModel {
  // The guard returns undici's fetch, whose types differ from the platform's in name only.
  const fetch = withProgressDeadline(
    sendByFetch(egress.fetch as unknown as typeof globalThis.fetch),
    clock,
    STALL_MS,
  );
  const baseURL = custom.base_url.replace(/(?<!\/)\/+$/, '').replace(/\/chat\/completions$/, '');
  const modelFor = (request: ChatRequest) =>
    createOpenAICompatible({
      name: 'custom',
      baseURL,
      fetch,
      includeUsage: true,
      ...(apiKey === null ? {} : { apiKey }),
      transformRequestBody: (body) => ({ ...body, ...conversationFields(request) }),
    })(custom.model);
  return createSdkModel({
    id: 'custom',
    isCustom: true,
    modelFor,
    headersFor: (request) => (request.speculative ? { [SPECULATIVE_HEADER]: 'true' } : {}),
    startsWithUser: false,
  });
}

function conversationFields(request: ChatRequest): Record<string, unknown> {
  return {
    session_id: request.sessionId,
    ...(request.endUserId === null ? {} : { user_id: request.endUserId }),
    ...(request.extraBody === null ? {} : { service_extra_body: request.extraBody }),
  };
}
