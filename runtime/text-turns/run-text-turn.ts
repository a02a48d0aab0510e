/**
 * Answers one message of a text session: the agent's prompt, knowledge and tools over the conversation so
 * far. A turn that cannot be answered is an `error` with its cause.
 */
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { McpTokens } from '#protocol/mcp-tokens.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { TextTurnEvent, TextTurnJob, TextTurnResult, TextTurnUsage } from '#protocol/text-turn.ts';
import { isoNow } from '../calls/wall-time.ts';
import type { Passage } from '../knowledge/knowledge-index.ts';
import type { CallKnowledge } from '../knowledge/knowledge-search.ts';
import { queryOf, retrieve } from '../knowledge/retrieve.ts';
import { type LanguageModel, ModelError } from '../llm/llm.ts';
import { shownItems } from '../tools/hidden-failure.ts';
import { historyOf } from '../turn/loop/failover-config.ts';
import { phrasesFor } from '../turn/text/phrases.ts';
import type { TextContext } from './ask-model.ts';
import { createBlockingRunner } from './blocking-tools.ts';
import { DeltaBatches } from './delta-batches.ts';
import { type AgentReply, createTextAgent } from './text-agent.ts';
import { TurnTools } from './turn-tools.ts';
import { watchedModel } from './watched-model.ts';

/** Longest turn. The control plane gives up later. */
const TURN_MS = 4 * 60_000;
/** A reader waits longer than a caller, and the index may have to be built first. */
const KNOWLEDGE_MS = 3_000;

/** Dependencies of a turn. */
export interface TextTurnDeps {
  modelFor(plan: CallPlan): LanguageModel;
  openKnowledge(plan: CallPlan, budgetMs: number): CallKnowledge | null;
  readonly egress: EgressGuard;
  /** Of the tool servers. */
  readonly serverTokens: McpTokens;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
  /** Called while the agent writes, if a client reads it. */
  onEvent(event: TextTurnEvent): void;
}

class TurnTimeout extends Error {}

/** Answers the message. Never rejects because of a model or a tool. */
export async function runTextTurn(job: TextTurnJob, deps: TextTurnDeps): Promise<TextTurnResult> {
  const turn = new TextTurn(job, deps);
  try {
    return await turn.run();
  } catch (error) {
    if (error instanceof TurnTimeout)
      return turn.failed(`The turn took longer than ${TURN_MS / 60_000} minutes`);
    if (error instanceof ModelError) return turn.failed(error.message);
    throw error;
  } finally {
    turn.close();
  }
}

class TextTurn {
  readonly #job: TextTurnJob;
  readonly #deps: TextTurnDeps;
  readonly #end = new AbortController();
  readonly #usage: TextTurnUsage[] = [];
  readonly #retrievals: SessionItem[] = [];
  readonly #tools: TurnTools;
  readonly #batches: DeltaBatches;
  readonly #knowledge: CallKnowledge | null;
  readonly #cleanUp: (() => void)[] = [];

  constructor(job: TextTurnJob, deps: TextTurnDeps) {
    const { plan, number, is_streamed: isStreamed } = job;
    const { clock, egress, serverTokens, logger } = deps;
    const runner = createBlockingRunner(plan, { egress, serverTokens, clock, logger, clientTools: null });
    const timer = clock.after(TURN_MS, () => this.#end.abort(new TurnTimeout()));
    const onEvent = isStreamed ? deps.onEvent : () => undefined;
    this.#job = job;
    this.#deps = deps;
    this.#batches = new DeltaBatches(clock, (text) => onEvent({ type: 'text_delta', text }));
    this.#tools = new TurnTools(plan, {
      runner,
      clock,
      number,
      onEvent: (event) => {
        this.#batches.flush();
        onEvent(event);
      },
    });
    this.#knowledge = deps.openKnowledge(plan, KNOWLEDGE_MS);
    this.#cleanUp.push(
      () => timer.cancel(),
      () => runner.close(),
      () => this.#batches.close(),
      () => this.#knowledge?.close(),
    );
  }

  async run(): Promise<TextTurnResult> {
    const { plan, items, medium, message } = this.#job;
    const context: TextContext = { plan, clock: this.#deps.clock, signal: this.#end.signal };
    const agent = createTextAgent(this.#model(), this.#tools, context, {
      manner: medium,
      lookUp: (said) => this.#lookUp(said),
    });
    agent.recall(historyOf(shownItems(plan.tools, items)));
    let reply: AgentReply | null;
    if (message === null) reply = await agent.greet();
    else {
      agent.hear(message);
      reply = await agent.reply();
    }
    this.#batches.flush();
    const text = reply?.text ?? '';
    return {
      reply: text,
      items: [...this.#retrievals, ...this.#tools.items, ...(text === '' ? [] : [this.#said(text)])],
      has_ended: reply?.hasHungUp ?? false,
      error: null,
      usage: this.#usage,
    };
  }

  /** The result without an answer. Results of tools are kept: the tools have run. */
  failed(error: string): TextTurnResult {
    const failure: SessionItem = {
      type: 'llm.endpoint_error',
      message: error,
      status: null,
      turn_id: this.#job.number,
      created_at: isoNow(this.#deps.clock),
    };
    const items = [...this.#retrievals, ...this.#tools.items, failure];
    const { medium, plan } = this.#job;
    // A client has an error to show; a person who waits for a text message has nothing.
    const reply = medium === 'sms' ? phrasesFor(plan.config.voice.speaking_language).trouble : '';
    return { reply, items, has_ended: false, error, usage: this.#usage };
  }

  close(): void {
    for (const close of this.#cleanUp) close();
  }

  #model(): LanguageModel {
    return watchedModel(this.#deps.modelFor(this.#job.plan), {
      ...(this.#job.is_streamed && { onText: (text: string) => this.#batches.add(text) }),
      onAnswered: (model, { inputTokens, cachedInputTokens, outputTokens }) =>
        this.#usage.push({
          model,
          input_tokens: inputTokens,
          cached_input_tokens: cachedInputTokens,
          output_tokens: outputTokens,
        }),
    });
  }

  async #lookUp(said: string): Promise<readonly Passage[]> {
    if (!this.#knowledge || said === '') return [];
    const asked = { query: queryOf(said), turnId: this.#job.number };
    const { passages, retrieval } = await retrieve(this.#knowledge, asked, this.#deps.clock);
    this.#retrievals.push({ ...retrieval, created_at: isoNow(this.#deps.clock) });
    return passages ?? [];
  }

  #said(content: string): SessionItem {
    return {
      type: 'message',
      role: 'assistant',
      content,
      turn_id: this.#job.number,
      created_at: isoNow(this.#deps.clock),
      id: `${this.#job.turn_id}:agent`,
    };
  }
}
