/**
 * Asks a model about one turn of an ended call: an agent's model answers on the history as it was heard, or a
 * judge compares two answers. No tool runs, no other model stands in, and each model is asked once: a
 * question costs no more than it may. A vendor may bill an answer that never came whole: such a question has
 * the most that it can have cost as its unknown price.
 */
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import { agentConfig } from '#config/agent-config.ts';
import { costOf, DEMO_MODEL_ID } from '#config/language-models.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import {
  JUDGED_OUTPUT_TOKENS,
  mostMicros,
  type QuestionOutcome,
  type TurnAnswer,
  type TurnQuestion,
} from '#protocol/judged-turns.ts';
import type { McpTokens } from '#protocol/mcp-tokens.ts';
import type { CallKnowledge } from '../knowledge/knowledge-search.ts';
import { queryOf, retrieve } from '../knowledge/retrieve.ts';
import { type ChatDelta, type LanguageModel, ModelError, ModelMissing } from '../llm/llm.ts';
import { createBlockingRunner } from '../text-turns/blocking-tools.ts';
import { createTextAgent } from '../text-turns/text-agent.ts';
import { shownItems } from '../tools/hidden-failure.ts';
import { historyOf } from '../turn/loop/failover-config.ts';
import { compareAnswers } from './compare-answers.ts';
import { withinTime } from './limited-time.ts';

/** Time for a question, ms: less than the control plane waits. */
const QUESTION_MS = 55_000;
/** A reader waits longer than a caller, and the index may have to be built first. */
const KNOWLEDGE_MS = 3_000;
const ANSWER_CHARS = 4_000;
const ERROR_CHARS = 400;

/** Dependencies of a question. */
export interface QuestionDeps {
  /** A model that no other one replaces. */
  modelFor(plan: Pick<CallPlan, 'config' | 'llm_api_key' | 'local_models'>): LanguageModel;
  openKnowledge(plan: CallPlan, budgetMs: number): CallKnowledge | null;
  readonly egress: EgressGuard;
  readonly serverTokens: McpTokens;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
}

type Asked<Step extends TurnQuestion['step']> = Extract<TurnQuestion, { step: Step }>;

/** The request could cost more than the question may. */
class TooDear extends Error {
  readonly needsMicros: number;

  constructor(needsMicros: number) {
    super('the request could cost more than the question may');
    this.needsMicros = needsMicros;
  }
}

/** Answers a question. Never rejects because of a model. */
export async function answerQuestion(question: TurnQuestion, deps: QuestionDeps): Promise<QuestionOutcome> {
  const bill: Bill = { micros: 0, unknownMicros: 0 };
  const costs = () => ({
    cost_micros: bill.micros,
    ...(bill.unknownMicros > 0 && { unknown_micros: bill.unknownMicros }),
  });
  const failed = (error: string): QuestionOutcome => ({
    outcome: 'failed',
    error: error.slice(0, ERROR_CHARS),
    ...costs(),
  });
  const plan =
    question.step === 'answer'
      ? question.plan
      : {
          config: agentConfig.parse({ llm: { model: question.model } }),
          llm_api_key: null,
          local_models: question.local_models,
        };
  const model = deps.modelFor(plan);
  if (model.isCustom || model.id === DEMO_MODEL_ID) return failed(`${model.id} cannot be asked again`);
  const once = askedOnce(model, question.most_micros, bill);
  try {
    return await withinTime(deps.clock, QUESTION_MS, async (signal) => {
      if (question.step === 'answer') {
        const answer = await answerOf(question, { model: once, signal, deps });
        return { outcome: 'answered', answer, ...costs() };
      }
      const verdict = await compareAnswers(once, question, { clock: deps.clock, signal });
      return verdict
        ? { outcome: 'compared', ...verdict, ...costs() }
        : failed('the answer of the judging model cannot be parsed');
    });
  } catch (error) {
    if (error instanceof TooDear) return { outcome: 'dear', needs_micros: error.needsMicros };
    if (error instanceof ModelError) return failed(error.message);
    throw error;
  }
}

/** What the agent's model says or calls first. */
async function answerOf(
  { plan, items, at_ms }: Asked<'answer'>,
  {
    model,
    signal,
    deps,
  }: { readonly model: LanguageModel; readonly signal: AbortSignal; readonly deps: QuestionDeps },
): Promise<TurnAnswer> {
  const { egress, serverTokens, logger } = deps;
  const clock = clockAt(deps.clock, at_ms);
  const runner = createBlockingRunner(plan, {
    ...{ egress, serverTokens, clock, logger },
    // Offered as on a web call; they never run here.
    clientTools:
      plan.channel === 'web_voice'
        ? { run: () => Promise.reject(new Error('no client')), settle: () => undefined }
        : null,
  });
  const knowledge = deps.openKnowledge(plan, KNOWLEDGE_MS);
  const tools = {
    definitions: plan.config.tools.enabled ? runner.definitions : [],
    answer: () => Promise.reject(new Error('no tool runs in a rehearsal')),
  };
  try {
    const agent = createTextAgent(
      model,
      tools,
      { plan, clock, signal },
      {
        lookUp: async (said) => {
          if (!knowledge || said === '') return [];
          const { passages } = await retrieve(knowledge, { query: queryOf(said), turnId: 0 }, deps.clock);
          return passages ?? [];
        },
      },
    );
    agent.recall(historyOf(shownItems(plan.tools, items)));
    const { text, calls } = await agent.reply({ signal, until: () => true });
    return {
      text: text.slice(0, ANSWER_CHARS),
      calls: calls.map(({ toolName, input }) => ({
        tool_name: toolName,
        arguments: input.slice(0, ANSWER_CHARS),
      })),
    };
  } finally {
    runner.close();
    knowledge?.close();
  }
}

/** The cost of a question, micro-dollars. */
interface Bill {
  micros: number;
  /** The most that a request without a report may have cost. */
  unknownMicros: number;
}

/** The same model, with short answers; a request is sent at most once, and none that could be too dear. */
function askedOnce(model: LanguageModel, allowedMicros: number, bill: Bill): LanguageModel {
  return {
    id: model.id,
    isCustom: model.isCustom,
    ...(model.contextTokens === undefined ? {} : { contextTokens: model.contextTokens }),
    async *stream(request) {
      const bytes = Buffer.byteLength(JSON.stringify([request.messages, request.tools]));
      const needsMicros = mostMicros(model.id, bytes);
      if (needsMicros > allowedMicros) throw new TooDear(needsMicros);
      bill.unknownMicros += needsMicros;
      try {
        for await (const delta of model.stream({ ...request, maxOutputTokens: JUDGED_OUTPUT_TOKENS })) {
          countReport(bill, delta, { modelId: model.id, needsMicros });
          yield delta;
        }
      } catch (error) {
        if (!(error instanceof ModelError)) throw error;
        if (isUnbilled(error)) bill.unknownMicros -= needsMicros;
        throw new ModelError(error.message, { retryable: false, status: error.status, cause: error });
      }
    },
  };
}

/** Once the end of an answer reports its tokens, it has a list price. */
function countReport(
  bill: Bill,
  delta: ChatDelta,
  { modelId, needsMicros }: { readonly modelId: string; readonly needsMicros: number },
): void {
  if (delta.type !== 'finish') return;
  const { inputTokens, outputTokens } = delta.usage;
  if (inputTokens === null || outputTokens === null) return;
  bill.micros += costOf(delta.modelId ?? modelId, delta.usage);
  bill.unknownMicros -= needsMicros;
}

/** Nothing was asked, or the vendor refused to answer. */
function isUnbilled(error: ModelError): boolean {
  return error instanceof ModelMissing || (error.status ?? 0) >= 400;
}

/** Today is the day of the call. */
function clockAt(clock: Clock, wallTimeMs: number): Clock {
  return {
    now: () => clock.now(),
    wallTime: () => wallTimeMs,
    after: (ms, callback) => clock.after(ms, callback),
    every: (ms, callback) => clock.every(ms, callback),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
}
