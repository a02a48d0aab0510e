/**
 * Requests to a call's language model: the prompt, knowledge found for the turn, and as much of the
 * conversation as fits the context window.
 */

import type { Clock } from '#base/clock.ts';
import { contextTokensOf } from '#config/language-models.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { Passage } from '../../knowledge/knowledge-index.ts';
import type { CallKnowledge } from '../../knowledge/knowledge-search.ts';
import { queryOf, type Retrieval, retrieve } from '../../knowledge/retrieve.ts';
import { ContextWindow } from '../../llm/context-window.ts';
import type { ChatMessage, ChatRequest, LanguageModel, ToolDefinition } from '../../llm/llm.ts';
import { systemMessages } from '../../prompt/prompt.ts';
import type { ToolRunner } from '../../tools/tool-runner.ts';
import type { Effect } from '../machine/turn-effects.ts';

const SUMMARISE =
  'Summarise this part of a phone conversation for the agent who goes on with it: what the caller wants, ' +
  'every name, number, date and decision, what tools did, what is open. At most 200 words, no introduction.';

/** What a request says about tools. */
export interface OfferedTools {
  readonly definitions: readonly ToolDefinition[];
  readonly notice: string | null;
}

/** The tools of the agent and of its servers as they are now, and those that act on the call. */
export function offeredTools(
  { config }: Pick<CallPlan, 'config'>,
  { definitions, notice = null }: Pick<ToolRunner, 'definitions' | 'notice'>,
  callTools: readonly ToolDefinition[],
): OfferedTools {
  return { definitions: [...(config.tools.enabled ? definitions : []), ...callTools], notice };
}

/** Options of requests. */
export interface ChatRequestsOptions {
  readonly plan: CallPlan;
  readonly clock: Clock;
  readonly model: LanguageModel;
  /** The tools to offer now, and a sentence for the model about missing ones. */
  readonly offeredTools: () => OfferedTools;
  readonly knowledge: CallKnowledge | null;
  /** Aborts when the call ends. */
  readonly signal: AbortSignal;
}

/** The requests of one call. */
export class ChatRequests {
  /** The fixed part of the prompt; a keypad menu may change it once. */
  stablePrompt: string;
  readonly #options: ChatRequestsOptions;
  readonly #window: ContextWindow;
  #latest: { readonly query: string; readonly passages: readonly Passage[] } | null = null;
  readonly #retrievals = new Map<number, Retrieval>();

  constructor(stablePrompt: string, options: ChatRequestsOptions) {
    this.stablePrompt = stablePrompt;
    this.#options = options;
    const contextTokens = options.model.contextTokens ?? contextTokensOf(options.model.id);
    this.#window = new ContextWindow({
      contextTokens,
      summarise: (transcript) => this.#summarise(transcript),
    });
  }

  /** The request of one generation. */
  async build(
    { replyId, turnId, messages, isSpeculative }: Extract<Effect, { do: 'generate' }>,
    signal: AbortSignal,
  ): Promise<ChatRequest> {
    const { clock, plan, offeredTools } = this.#options;
    const passages = await this.#lookUp(turnId, messages);
    const { definitions, notice } = offeredTools();
    const before: ChatMessage[] = [
      ...systemMessages(this.stablePrompt, plan, clock.wallTime(), passages),
      ...(notice === null ? [] : [{ role: 'system' as const, content: notice }]),
    ];
    return this.#request([...before, ...this.#window.fit(before, messages)], {
      tools: definitions,
      speculative: isSpeculative,
      replyId,
      signal,
    });
  }

  /** The knowledge found for a turn; returned once. */
  takeRetrieval(turnId: number): Retrieval | null {
    const retrieval = this.#retrievals.get(turnId) ?? null;
    this.#retrievals.delete(turnId);
    return retrieval;
  }

  #request(
    messages: readonly ChatMessage[],
    run: Pick<ChatRequest, 'tools' | 'speculative' | 'replyId' | 'signal'>,
  ): ChatRequest {
    const { plan } = this.#options;
    const conversation = {
      sessionId: plan.session_id,
      endUserId: plan.end_user_id,
      extraBody: plan.llm_extra_body,
    };
    return { messages, maxOutputTokens: null, ...conversation, ...run };
  }

  /** Call events are not questions. The rounds of one turn have the same query, so it is searched once. */
  async #lookUp(turnId: number, messages: readonly ChatMessage[]): Promise<readonly Passage[]> {
    const { clock, knowledge } = this.#options;
    const said = messages.findLast((message) => message.role === 'user')?.content ?? '';
    if (!knowledge || said === '' || said.startsWith('[')) return [];
    const query = queryOf(said);
    if (this.#latest?.query === query) return this.#latest.passages;
    const { passages, retrieval } = await retrieve(knowledge, { query, turnId }, clock);
    // A late result may be ready next time.
    if (passages) this.#latest = { query, passages };
    this.#retrievals.set(turnId, retrieval);
    return passages ?? [];
  }

  async #summarise(transcript: string): Promise<string> {
    const { model, signal } = this.#options;
    const messages = [
      { role: 'system', content: SUMMARISE },
      { role: 'user', content: transcript },
    ] as const;
    let summary = '';
    for await (const delta of model.stream(
      this.#request(messages, { tools: [], speculative: false, signal }),
    ))
      if (delta.type === 'text') summary += delta.text;
    return summary;
  }
}
