/**
 * The model and the knowledge of a call, with spans of their work, also if it was broken off. Only calls with
 * a trace use them.
 */
import { askedLanguageModel, GEN_AI, OPERATION, spanName } from '#config/gen-ai.ts';
import type { Passage } from '../knowledge/knowledge-index.ts';
import type { CallKnowledge } from '../knowledge/knowledge-search.ts';
import { CallIds } from '../llm/call-ids.ts';
import type { ChatDelta, ChatRequest, LanguageModel, ToolCall } from '../llm/llm.ts';
import { isPressKeys, withHiddenKeys } from '../tools/press-keys.ts';
import {
  begin,
  type Described,
  type EngineTrace,
  endingWith,
  failureAttributes,
  failureType,
} from './engine-trace.ts';
import { answerContent, requestContent, searchContent } from './trace-content.ts';

/** A model whose generations are traced. Their tool calls have the ids under which the tools run. */
export function tracedModel(model: LanguageModel, trace: EngineTrace): LanguageModel {
  const ids = new CallIds();
  return {
    get id() {
      return model.id;
    },
    isCustom: model.isCustom,
    ...(model.contextTokens === undefined ? {} : { contextTokens: model.contextTokens }),
    stream: (request) => tracedStream({ model, ids }, request, trace),
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
  { model, ids }: { readonly model: LanguageModel; readonly ids: CallIds },
  request: ChatRequest,
  trace: EngineTrace,
): AsyncGenerator<ChatDelta> {
  const answer = new Answer();
  const startMs = trace.clock.now();
  const end = begin(trace, request.replyId ?? null, (error) =>
    generationSpan({ modelId: model.id, request, answer, error }, trace),
  );
  const deltas = async function* () {
    for await (const given of model.stream(request)) {
      const delta = given.type === 'tool_call' ? { ...given, call: ids.unique(given.call) } : given;
      if (delta.type !== 'finish') answer.firstMs ??= trace.clock.now() - startMs;
      answer.add(delta, trace);
      yield delta;
    }
  };
  yield* endingWith(deltas(), end, request.signal);
}

/** An answer, as its span needs it. */
class Answer {
  finish: Extract<ChatDelta, { type: 'finish' }> | null = null;
  /** From the request to the first word or call. */
  firstMs: number | null = null;
  text = '';
  readonly calls: ToolCall[] = [];

  add(delta: ChatDelta, { hasContent, hidesKeys }: EngineTrace): void {
    if (delta.type === 'finish') this.finish = delta;
    else if (delta.type === 'tool_call') this.calls.push(hidesKeys ? withoutKeys(delta.call) : delta.call);
    else if (hasContent) this.text += delta.text;
  }
}

function withoutKeys(call: ToolCall): ToolCall {
  return isPressKeys(call.toolName) ? withHiddenKeys(call) : call;
}

interface Generation {
  readonly modelId: string;
  readonly request: ChatRequest;
  readonly answer: Answer;
  readonly error: unknown;
}

function generationSpan(
  { modelId, request, answer, error }: Generation,
  { customModel, hasContent }: EngineTrace,
): Described {
  const asked = askedLanguageModel(modelId, customModel);
  const { calls, finish, firstMs, text } = answer;
  const { finishReason, modelId: otherId, usage } = finish ?? {};
  const other = otherId === undefined ? null : askedLanguageModel(otherId, customModel);
  const { isInProcess, provider } = other ?? asked;
  const isAborted = finish === null && error === null;
  const ending = error === null ? finishReason : 'error';
  return {
    name: spanName(OPERATION.chat, asked.model),
    kind: isInProcess ? 'internal' : 'client',
    attributes: {
      [GEN_AI.operation]: OPERATION.chat,
      [GEN_AI.provider]: provider,
      [GEN_AI.requestModel]: asked.model,
      [GEN_AI.responseModel]: other?.model ?? null,
      [GEN_AI.stream]: true,
      [GEN_AI.firstChunk]: firstMs === null ? null : firstMs / 1_000,
      [GEN_AI.outputType]: 'text',
      [GEN_AI.finishReasons]: finishReason === undefined ? null : [finishReason],
      [GEN_AI.inputTokens]: usage?.inputTokens ?? null,
      [GEN_AI.cachedTokens]: usage?.cachedInputTokens ?? null,
      [GEN_AI.outputTokens]: usage?.outputTokens ?? null,
      'parley.speculative': request.speculative,
      'parley.aborted': isAborted,
      ...failureAttributes(error),
      ...(hasContent
        ? { ...requestContent(request.messages), ...answerContent({ text, calls, finishReason: ending }) }
        : {}),
    },
    error: failureType(error),
  };
}

function documentOf({ knowledge_source_id: source, chunk, text: content }: Passage) {
  return { id: `${source}#${chunk}`, content };
}
