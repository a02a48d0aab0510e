/** An agent in writing: a call's prompt, knowledge, tools and hang-up, without its voice. */
import { contextTokensOf } from '#config/language-models.ts';
import type { TestDefinition } from '#protocol/agent-test.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { isHangUpCall } from '#protocol/hang-up-call.ts';
import type { Passage } from '../knowledge/knowledge-index.ts';
import { ContextWindow } from '../llm/context-window.ts';
import type { ChatMessage, LanguageModel, ToolCall, ToolDefinition } from '../llm/llm.ts';
import { type Manner, stablePrompt, systemMessages } from '../prompt/prompt.ts';
import { hangUpCallTool } from '../tools/call-tools.ts';
import { renderText } from '../turn/text/variables.ts';
import { ask, type TextContext } from './ask-model.ts';

/** Rounds of tool calls within one reply before the agent must speak. */
const TOOL_ROUNDS = 8;

/** One reply. */
export interface AgentReply {
  readonly text: string;
  /** All tool calls, including the hang-up. */
  readonly calls: readonly ToolCall[];
  readonly hasHungUp: boolean;
  /** Time until the model's first answer was complete, in ms. */
  readonly tookMs: number;
}

/** The agent of one conversation. */
export interface TextAgent {
  /** Adds earlier turns to the conversation. */
  remember(turns: TestDefinition['conversation']): void;
  /** Adds earlier messages as the model sees them. */
  recall(messages: readonly ChatMessage[]): void;
  hear(text: string): void;
  /** The agent's opening; null when it waits for the caller. */
  greet(options?: ReplyOptions): Promise<AgentReply | null>;
  /** Generates a reply; ends early when `until` returns true. Throws `ModelError`, or the signal's reason. */
  reply(options?: ReplyOptions): Promise<AgentReply>;
}

/** Options of a reply. */
interface ReplyOptions {
  /** Ends this reply; the test's own signal applies as well. */
  readonly signal?: AbortSignal;
  /** Called before tools are answered; true ends the reply there. */
  readonly until?: (calls: readonly ToolCall[]) => boolean;
}

/** The tools of the conversation. */
export interface TextTools {
  readonly definitions: readonly ToolDefinition[];
  /** One sentence for the model about tools that are missing now; null or absent without any. */
  readonly notice?: string | null;
  /** Answers a call; rejects only when the signal aborts. Returns the text for the model. */
  answer(call: ToolCall, signal: AbortSignal): Promise<string>;
}

/** How the conversation is held. */
export interface TextManner {
  /** Absent: as it would be spoken. */
  readonly manner?: Manner;
  /** The passages that fit a message; absent without anything to search. */
  lookUp?(said: string): Promise<readonly Passage[]>;
}

/** Creates the agent of a plan. */
export function createTextAgent(
  model: LanguageModel,
  tools: TextTools,
  context: TextContext,
  manner: TextManner = {},
): TextAgent {
  return new ModelAgent(model, tools, context, manner);
}

/** A reply in progress. */
interface Reply {
  readonly texts: string[];
  readonly calls: ToolCall[];
  tookMs: number | null;
}

class ModelAgent implements TextAgent {
  readonly #model: LanguageModel;
  readonly #tools: TextTools;
  readonly #context: TextContext;
  readonly #manner: TextManner;
  readonly #window: ContextWindow;
  readonly #stablePrompt: string;
  readonly #definitions: readonly ToolDefinition[];
  readonly #hangsUp: boolean;
  readonly #history: ChatMessage[] = [];
  #passages: readonly Passage[] = [];

  constructor(model: LanguageModel, tools: TextTools, context: TextContext, manner: TextManner) {
    const hangUp = hangUpCallTool(context.plan.config);
    this.#model = model;
    this.#tools = tools;
    this.#context = context;
    this.#manner = manner;
    this.#window = new ContextWindow({
      contextTokens: model.contextTokens ?? contextTokensOf(model.id),
      // Nothing outlives the turn that could use a summary: the oldest messages are left out.
      summarise: async () => '',
    });
    this.#stablePrompt = stablePrompt(inWriting(context.plan), (text) => this.#render(text), manner.manner);
    this.#hangsUp = hangUp !== null;
    this.#definitions = [...tools.definitions, ...(hangUp ? [hangUp] : [])];
  }

  remember(turns: TestDefinition['conversation']): void {
    for (const { role, text } of turns)
      this.#history.push({ role: role === 'agent' ? 'assistant' : 'user', content: text });
  }

  recall(messages: readonly ChatMessage[]): void {
    this.#history.push(...messages);
  }

  hear(text: string): void {
    this.#history.push({ role: 'user', content: text });
  }

  async greet(options?: ReplyOptions): Promise<AgentReply | null> {
    const {
      first_message_mode: mode,
      first_message,
      first_message_prompt,
    } = this.#context.plan.config.prompt;
    if (mode === 'prompt') {
      const what = (this.#manner.manner ?? 'spoken') === 'spoken' ? 'call' : 'conversation';
      this.hear(`[The ${what} has just begun. ${this.#render(first_message_prompt)}]`);
      return this.reply(options);
    }
    const text = mode === 'fixed' ? this.#render(first_message).trim() : '';
    if (text === '') return null;
    this.#history.push({ role: 'assistant', content: text });
    return { text, calls: [], hasHungUp: false, tookMs: 0 };
  }

  async reply({
    signal = this.#context.signal,
    until = () => false,
  }: ReplyOptions = {}): Promise<AgentReply> {
    const reply: Reply = { texts: [], calls: [], tookMs: null };
    const said = this.#history.findLast(({ role }) => role === 'user')?.content ?? '';
    this.#passages = said.startsWith('[') ? [] : ((await this.#manner.lookUp?.(said)) ?? []);
    for (let round = 0; round < TOOL_ROUNDS; round++) {
      const asked = await this.#generate(reply, signal);
      const hangUp = this.#hangsUp ? asked.find((call) => isHangUpCall(call.toolName)) : undefined;
      if (hangUp) return this.#said(reply, this.#farewell(hangUp, reply.texts));
      if (asked.length === 0 || until(reply.calls)) break;
      await this.#answer(asked, signal);
    }
    return this.#said(reply, null);
  }

  async #generate(reply: Reply, signal: AbortSignal): Promise<readonly ToolCall[]> {
    const { plan, clock } = this.#context;
    const { notice = null } = this.#tools;
    const before: ChatMessage[] = [
      ...systemMessages(this.#stablePrompt, plan, clock.wallTime(), this.#passages),
      ...(notice === null ? [] : [{ role: 'system' as const, content: notice }]),
    ];
    const messages = [...before, ...this.#window.fit(before, this.#history)];
    const { text, calls, tookMs } = await ask(
      this.#model,
      { messages, tools: this.#definitions, signal },
      this.#context,
    );
    reply.tookMs ??= tookMs;
    if (text !== '') reply.texts.push(text);
    reply.calls.push(...calls);
    this.#history.push({
      role: 'assistant',
      content: text,
      ...(calls.length > 0 ? { toolCalls: calls } : {}),
    });
    return calls;
  }

  async #answer(calls: readonly ToolCall[], signal: AbortSignal): Promise<void> {
    for (const call of calls) {
      const content = await this.#tools.answer(call, AbortSignal.any([this.#context.signal, signal]));
      this.#history.push({ role: 'tool', callId: call.callId, toolName: call.toolName, content });
    }
  }

  /** `farewell` is null unless the agent hung up. */
  #said({ texts, calls, tookMs }: Reply, farewell: string | null): AgentReply {
    const text = [...texts, farewell ?? ''].filter((part) => part !== '').join(' ');
    return { text, calls, hasHungUp: farewell !== null, tookMs: tookMs ?? 0 };
  }

  /** As in a call: the fixed farewell, or the model's own if it has said nothing yet. */
  #farewell(call: ToolCall, said: readonly string[]): string {
    const { hang_up_call_farewell_mode: mode, hang_up_call_farewell_message: message } =
      this.#context.plan.config.tools.system_tools;
    if (mode === 'fixed') return this.#render(message);
    return mode === 'generated' && said.length === 0 ? farewellIn(call) : '';
  }

  #render(text: string): string {
    const { variables, system_variables: systemVariables, config } = this.#context.plan;
    return renderText(text, { variables, systemVariables, onMissing: config.variables.on_missing });
  }
}

/** Removes cues: this conversation is text only. */
function inWriting({ answer_hints: _hints, ...plan }: CallPlan): CallPlan {
  return { ...plan, config: { ...plan.config, voice: { ...plan.config.voice, expressive: false } } };
}

/** The model's own farewell; empty without one. */
function farewellIn({ input }: ToolCall): string {
  try {
    const { farewell } = JSON.parse(input) as { readonly farewell?: unknown };
    return typeof farewell === 'string' ? farewell : '';
  } catch {
    return '';
  }
}
