/**
 * Engines of a call whose work is traced: each generation, synthesis and search is a span from the moment it
 * was asked for to its last word or sample, also if it was broken off. Only calls with a trace use them.
 */
import type { Clock } from '#base/clock.ts';
import { askedLanguageModel, askedSpeechEngine, GEN_AI, OPERATION } from '#config/gen-ai.ts';
import type { FinishedSpan, SpanAttributes } from '#config/tracing.ts';
import {
  type SpeechChunk,
  SpeechError,
  type SynthesisOptions,
  type Synthesizer,
} from '#media/speech/speech.ts';
import type { Passage } from '../knowledge/knowledge-index.ts';
import type { CallKnowledge } from '../knowledge/knowledge-search.ts';
import {
  type ChatDelta,
  type ChatRequest,
  type LanguageModel,
  ModelError,
  type ToolCall,
} from '../llm/llm.ts';
import { answerContent, requestContent, searchContent, spokenContent } from './trace-content.ts';

/** The trace that engines note their work in. */
export interface EngineTrace {
  readonly clock: Clock;
  /** Whether spans contain what was said. */
  readonly hasContent: boolean;
  /** Work in progress: each function ends the span of one piece of it. */
  readonly running: Set<() => void>;
  /** Attributes of every span. */
  readonly common: SpanAttributes;
  /** The reply that was asked for last. */
  latestReply(): string | null;
  /** Records a piece of work, done for a reply or for the call. */
  note(span: FinishedSpan, replyId: string | null): void;
}

type Described = Omit<FinishedSpan, 'startMs' | 'endMs'>;

/** A model whose generations are traced. */
export function tracedModel(model: LanguageModel, trace: EngineTrace): LanguageModel {
  return {
    get id() {
      return model.id;
    },
    isCustom: model.isCustom,
    ...(model.contextTokens === undefined ? {} : { contextTokens: model.contextTokens }),
    stream: (request) => tracedStream(model, request, trace),
  };
}

/** A synthesiser whose syntheses are traced. */
export function tracedSynthesizer(synthesizer: Synthesizer, trace: EngineTrace): Synthesizer {
  return {
    get id() {
      return synthesizer.id;
    },
    get voices() {
      return synthesizer.voices;
    },
    get needsWords() {
      return synthesizer.needsWords === true;
    },
    prepare: (outlook) => synthesizer.prepare?.(outlook),
    synthesise: (text, options) => tracedSynthesis(synthesizer, { text, options }, trace),
  };
}

/** Knowledge whose searches are traced. */
export function tracedKnowledge(knowledge: CallKnowledge, trace: EngineTrace): CallKnowledge {
  return {
    async search(query) {
      let found: Awaited<ReturnType<CallKnowledge['search']>> = null;
      const end = begin(trace, trace.latestReply(), () => ({
        name: OPERATION.retrieval,
        attributes: {
          [GEN_AI.operation]: OPERATION.retrieval,
          'parley.passages': found?.length ?? 0,
          [GEN_AI.errorType]: found === null ? 'timeout' : null,
          ...(trace.hasContent ? searchContent(query, (found ?? []).map(documentOf)) : {}),
        },
        error: found === null ? 'timeout' : null,
      }));
      found = await knowledge.search(query);
      end(null);
      return found;
    },
    close: () => knowledge.close(),
  };
}

async function* tracedStream(
  model: LanguageModel,
  request: ChatRequest,
  trace: EngineTrace,
): AsyncGenerator<ChatDelta> {
  const answer = new Answer();
  const startMs = trace.clock.wallTime();
  let firstMs: number | null = null;
  let failure: unknown = null;
  const end = begin(trace, request.replyId ?? null, (error) =>
    generationSpan({ modelId: model.id, request, answer, error, hasContent: trace.hasContent }, firstMs),
  );
  try {
    for await (const delta of model.stream(request)) {
      if (delta.type !== 'finish') firstMs ??= trace.clock.wallTime() - startMs;
      answer.add(delta, trace.hasContent);
      yield delta;
    }
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    end(request.signal.aborted ? null : failure);
  }
}

/** What is kept of an answer for its span. */
class Answer {
  finish: Extract<ChatDelta, { type: 'finish' }> | null = null;
  text = '';
  readonly calls: ToolCall[] = [];

  add(delta: ChatDelta, withContent: boolean): void {
    if (delta.type === 'finish') this.finish = delta;
    else if (delta.type === 'tool_call') this.calls.push(delta.call);
    else if (withContent) this.text += delta.text;
  }
}

interface Generation {
  readonly modelId: string;
  readonly request: ChatRequest;
  readonly answer: Answer;
  readonly error: unknown;
  readonly hasContent: boolean;
}

function generationSpan(
  { modelId, request, answer, error, hasContent }: Generation,
  firstMs: number | null,
): Described {
  const { provider, model, isInProcess } = askedLanguageModel(modelId);
  const { calls, finish, text } = answer;
  const { usage } = finish ?? {};
  const isAborted = finish === null && error === null;
  const finishReason = error !== null ? 'error' : isAborted ? 'aborted' : calls.length ? 'tool_call' : 'stop';
  return {
    name: `${OPERATION.chat} ${model}`,
    kind: isInProcess ? 'internal' : 'client',
    attributes: {
      [GEN_AI.operation]: OPERATION.chat,
      [GEN_AI.provider]: provider,
      [GEN_AI.requestModel]: model,
      [GEN_AI.responseModel]: finish?.modelId === undefined ? null : askedLanguageModel(finish.modelId).model,
      [GEN_AI.stream]: true,
      [GEN_AI.firstChunk]: firstMs === null ? null : firstMs / 1_000,
      [GEN_AI.outputType]: 'text',
      [GEN_AI.inputTokens]: usage?.inputTokens ?? null,
      [GEN_AI.cachedTokens]: usage?.cachedInputTokens ?? null,
      [GEN_AI.outputTokens]: usage?.outputTokens ?? null,
      'parley.speculative': request.speculative,
      'parley.aborted': isAborted,
      ...failureAttributes(error),
      ...(hasContent
        ? { ...requestContent(request.messages), ...answerContent({ text, calls, finishReason }) }
        : {}),
    },
    error: failureType(error),
  };
}

async function* tracedSynthesis(
  synthesizer: Synthesizer,
  { text, options }: { readonly text: string; readonly options: SynthesisOptions },
  trace: EngineTrace,
): AsyncGenerator<SpeechChunk> {
  const startMs = trace.clock.wallTime();
  const made: Made = { audioMs: 0, firstMs: null, isKept: false, isComplete: false };
  let failure: unknown = null;
  const end = begin(trace, options.replyId ?? null, (error) => {
    const { attributes, ...span } = synthesisSpan(synthesizer.id, options.voiceId, { made, error });
    return { ...span, attributes: { ...attributes, ...(trace.hasContent ? spokenContent(text) : {}) } };
  });
  try {
    for await (const chunk of synthesizer.synthesise(text, options)) {
      made.firstMs ??= trace.clock.wallTime() - startMs;
      made.audioMs += (chunk.samples.length * 1_000) / chunk.sampleRateHz;
      made.isKept ||= chunk.isKept === true;
      yield chunk;
    }
    made.isComplete = true;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    end(options.signal.aborted ? null : failure);
  }
}

/** What a synthesis has made so far. */
interface Made {
  audioMs: number;
  firstMs: number | null;
  isKept: boolean;
  isComplete: boolean;
}

function synthesisSpan(
  engineId: string,
  voiceId: string | null,
  { made, error }: { readonly made: Made; readonly error: unknown },
): Described {
  const { provider, model, isInProcess } = askedSpeechEngine(engineId);
  const voice = voiceId?.split(':').at(-1) ?? 'default';
  return {
    name: `${OPERATION.synthesis} ${voice}`,
    kind: isInProcess || made.isKept ? 'internal' : 'client',
    attributes: {
      [GEN_AI.operation]: OPERATION.synthesis,
      [GEN_AI.provider]: provider,
      [GEN_AI.requestModel]: model,
      [GEN_AI.voice]: voice,
      [GEN_AI.outputType]: 'speech',
      [GEN_AI.firstChunk]: made.firstMs === null ? null : made.firstMs / 1_000,
      'parley.audio_seconds': Math.round(made.audioMs) / 1_000,
      'parley.kept': made.isKept,
      'parley.aborted': !made.isComplete && error === null,
      ...failureAttributes(error),
    },
    error: failureType(error),
  };
}

/** Begins a piece of work. The returned function ends it; a second end changes nothing. */
function begin(
  trace: EngineTrace,
  replyId: string | null,
  describe: (failure: unknown) => Described,
): (failure: unknown) => void {
  const startMs = trace.clock.wallTime();
  const end = (failure: unknown = null) => {
    if (!trace.running.delete(end)) return;
    const { attributes, ...span } = describe(failure);
    const endMs = trace.clock.wallTime();
    trace.note({ ...span, startMs, endMs, attributes: { ...trace.common, ...attributes } }, replyId);
  };
  trace.running.add(end);
  return end;
}

function failureAttributes(error: unknown): SpanAttributes {
  return {
    [GEN_AI.errorType]: failureType(error),
    [GEN_AI.httpStatus]: error instanceof ModelError ? error.status : null,
  };
}

/** A short name of a failure: its message may quote the caller. */
function failureType(error: unknown): string | null {
  if (error === null) return null;
  if (error instanceof SpeechError) return error.category;
  if (error instanceof ModelError && error.status !== null) return String(error.status);
  return error instanceof Error ? error.name : '_OTHER';
}

function documentOf({ knowledge_source_id: source, chunk, text: content }: Passage) {
  return { id: `${source}#${chunk}`, content };
}
