/** The agent under test as a text conversation: a call's prompt, tools and hang-up, without its voice. */
import type { TestDefinition } from '#protocol/agent-test.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { isHangUpCall } from '#protocol/hang-up-call.ts';
import type { ChatMessage, LanguageModel, ToolCall, ToolDefinition } from '#runtime/llm/llm.ts';
import { hangUpCallTool } from '#runtime/tools/call-tools.ts';
import { stablePrompt, systemMessages } from '../prompt/prompt.ts';
import { renderText } from '../turn/text/variables.ts';
import { ask, type TestContext } from './ask-model.ts';
import { asText, parsedArguments } from './patterns.ts';
import type { TestTools } from './test-tools.ts';

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

/** Creates the agent of a plan. */
export function createTextAgent(model: LanguageModel, tools: TestTools, context: TestContext): TextAgent {
  return new ModelAgent(model, tools, context);
}

/** A reply in progress. */
interface Reply {
  readonly texts: string[];
  readonly calls: ToolCall[];
  tookMs: number | null;
}

class ModelAgent implements TextAgent {
  readonly #model: LanguageModel;
  readonly #tools: TestTools;
  readonly #context: TestContext;
  readonly #stablePrompt: string;
  readonly #definitions: readonly ToolDefinition[];
  readonly #hangsUp: boolean;
  readonly #history: ChatMessage[] = [];

  constructor(model: LanguageModel, tools: TestTools, context: TestContext) {
    const hangUp = hangUpCallTool(context.plan.config);
    this.#model = model;
    this.#tools = tools;
    this.#context = context;
    this.#stablePrompt = stablePrompt(inWriting(context.plan), (text) => this.#render(text));
    this.#hangsUp = hangUp !== null;
    this.#definitions = [...tools.definitions, ...(hangUp ? [hangUp] : [])];
  }

  remember(turns: TestDefinition['conversation']): void {
    for (const { role, text } of turns)
      this.#history.push({ role: role === 'agent' ? 'assistant' : 'user', content: text });
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
      this.hear(`[The call has just begun. ${this.#render(first_message_prompt)}]`);
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
    const messages = [...systemMessages(this.#stablePrompt, plan, clock.wallTime()), ...this.#history];
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
    return mode === 'generated' && said.length === 0 ? asText(parsedArguments(call.input)['farewell']) : '';
  }

  #render(text: string): string {
    const { variables, system_variables: systemVariables, config } = this.#context.plan;
    return renderText(text, { variables, systemVariables, onMissing: config.variables.on_missing });
  }
}

/** Removes voice cues: this conversation is text only. */
function inWriting(plan: CallPlan): CallPlan {
  return { ...plan, config: { ...plan.config, voice: { ...plan.config.voice, expressive: false } } };
}
