/**
 * Asks a model one question of a conversation without audio: a whole answer within a time limit, with a
 * second attempt where that may help.
 */
import type { z } from 'zod';
import type { Clock } from '#base/clock.ts';
import { LIMITS } from '#config/limits.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import {
  type ChatMessage,
  type LanguageModel,
  ModelError,
  type ToolCall,
  type ToolDefinition,
} from '#runtime/llm/llm.ts';

const ATTEMPTS = 2;
const ATTEMPT_MS = 60_000;

/** Shared by every part of one conversation. */
export interface TextContext {
  readonly plan: CallPlan;
  readonly clock: Clock;
  /** Aborts when the whole conversation ends. */
  readonly signal: AbortSignal;
}

/** The part of it that a question needs. */
type AskContext = Pick<TextContext, 'clock' | 'signal'> & {
  readonly plan: Pick<CallPlan, 'session_id'> & Partial<Pick<CallPlan, 'end_user_id' | 'llm_extra_body'>>;
};

/** One question to a model. */
export interface Question {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ToolDefinition[];
  readonly maxOutputTokens?: number;
  /** Ends this question before the conversation ends. */
  readonly signal?: AbortSignal;
}

/** A complete answer. */
export interface CompleteAnswer {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly tookMs: number;
}

/** Asks the model. Throws `ModelError`, or the reason of the signal that ended it. */
export async function ask(
  model: LanguageModel,
  question: Question,
  context: AskContext,
): Promise<CompleteAnswer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await askOnce(model, question, context);
    } catch (error) {
      if (attempt >= ATTEMPTS || !(error instanceof ModelError) || !error.retryable) throw error;
    }
  }
}

/**
 * Asks for one JSON object; the schema may check asynchronously. Returns null when two answers failed the
 * schema. Throws like `ask`.
 */
export async function askJson<Schema extends z.ZodType>(
  model: LanguageModel,
  of: { readonly question: Question; readonly schema: Schema },
  context: AskContext,
): Promise<z.output<Schema> | null> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const { text } = await ask(model, of.question, context);
    const parsed = await of.schema.safeParseAsync(jsonIn(text));
    if (parsed.success) return parsed.data;
  }
  return null;
}

async function askOnce(
  model: LanguageModel,
  question: Question,
  { plan, clock, signal }: AskContext,
): Promise<CompleteAnswer> {
  const late = new AbortController();
  const timer = clock.after(ATTEMPT_MS, () =>
    late.abort(
      new ModelError(`The model gave no answer within ${ATTEMPT_MS / 1_000} s`, { retryable: true }),
    ),
  );
  const startedMs = clock.now();
  let text = '';
  const calls: ToolCall[] = [];
  try {
    const stream = model.stream({
      messages: question.messages,
      tools: question.tools ?? [],
      maxOutputTokens: question.maxOutputTokens ?? null,
      sessionId: plan.session_id,
      endUserId: plan.end_user_id ?? null,
      extraBody: plan.llm_extra_body ?? null,
      speculative: false,
      signal: AbortSignal.any([signal, late.signal, ...(question.signal ? [question.signal] : [])]),
    });
    for await (const delta of stream) {
      if (delta.type === 'text') text += delta.text.slice(0, LIMITS.replyChars - text.length);
      else if (delta.type === 'tool_call') calls.push(delta.call);
    }
    return { text: text.trim(), calls, tookMs: clock.now() - startedMs };
  } finally {
    timer.cancel();
  }
}

/** Extracts the JSON object from an answer that may have text or a code fence around it. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
  } catch {
    return null;
  }
}
