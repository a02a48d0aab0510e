/**
 * Keeps a long conversation within its model's context window: well before it is full, the older part is
 * summarised in the background and replaced by the summary. Cuts only before a user message, so that a tool
 * call stays with its result. Until the summary is there, the oldest messages are left out.
 */
import type { ChatMessage } from './llm.ts';

/** Share of the available room at which the older part is summarised… */
const SUMMARISE_FROM = 0.7;
/** …and the share that is kept. */
const KEEP = 0.4;
/** Bytes per token: conservative for English, about right for scripts with three bytes per character. */
const BYTES_PER_TOKEN = 3;
/** Tokens of a message's role and separators. */
const MESSAGE_TOKENS = 4;
const ANSWER_TOKENS = 1_024;
/** Share of the window that is used, because token counts are estimates. */
const SAFE = 0.9;

/** Options of a context window. */
export interface ContextWindowOptions {
  /** Tokens in the model's window. */
  readonly contextTokens: number;
  /** Summarises a conversation given as lines of text. */
  readonly summarise: (transcript: string) => Promise<string>;
}

/** The context window of one call's model. */
export class ContextWindow {
  readonly #options: ContextWindowOptions;
  #summary: { readonly text: string; readonly covers: number } | null = null;
  #isSummarising = false;

  constructor(options: ContextWindowOptions) {
    this.#options = options;
  }

  /**
   * The part of the conversation that fits beside the system messages. `conversation` is always complete and
   * only grows at its end, except that the last user message and what follows it may change.
   */
  fit(before: readonly ChatMessage[], conversation: readonly ChatMessage[]): readonly ChatMessage[] {
    const room = Math.max(
      ANSWER_TOKENS,
      this.#options.contextTokens * SAFE - ANSWER_TOKENS - tokensOf(before),
    );
    const shown = this.#summarised(conversation);
    if (tokensOf(shown) <= room * SUMMARISE_FROM) return shown;
    this.#summariseOlder(conversation, room);
    return tokensOf(shown) <= room ? shown : trimmed(shown, room);
  }

  #summarised(conversation: readonly ChatMessage[]): readonly ChatMessage[] {
    if (!this.#summary) return conversation;
    const { text, covers } = this.#summary;
    return [
      { role: 'user', content: `[What was said before, in short: ${text}]` },
      ...conversation.slice(covers),
    ];
  }

  #summariseOlder(conversation: readonly ChatMessage[], room: number): void {
    const covered = this.#summary?.covers ?? 0;
    const cut = cutFor(conversation, room * KEEP);
    if (this.#isSummarising || cut <= covered) return;
    this.#isSummarising = true;
    const lines = conversation.slice(covered, cut).map(lineOf);
    const transcript = [...(this.#summary ? [`Before: ${this.#summary.text}`] : []), ...lines].join('\n');
    this.#options
      .summarise(transcript)
      .then((text) => {
        if (text.trim() !== '') this.#summary = { text: text.trim(), covers: cut };
      })
      // Without a summary the oldest part is left out; the next reply tries again.
      .catch(() => undefined)
      .finally(() => {
        this.#isSummarising = false;
      });
  }
}

/** The earliest user message from which everything fits; at the latest the last one. */
function cutFor(messages: readonly ChatMessage[], room: number): number {
  const starts = messages.flatMap((message, index) => (message.role === 'user' ? [index] : []));
  return starts.find((start) => tokensOf(messages.slice(start)) <= room) ?? starts.at(-1) ?? 0;
}

/** The newest part that fits; if even the last exchange does not, its tool results are shortened. */
function trimmed(messages: readonly ChatMessage[], room: number): readonly ChatMessage[] {
  const kept = messages.slice(cutFor(messages, room));
  if (tokensOf(kept) <= room) return kept;
  const results = kept.filter((message) => message.role === 'tool').length;
  const bytes = Math.floor((room * BYTES_PER_TOKEN) / (2 * Math.max(1, results)));
  return kept.map((message) =>
    message.role === 'tool' ? { ...message, content: shortened(message.content, bytes) } : message,
  );
}

function shortened(text: string, bytes: number): string {
  const whole = Buffer.from(text);
  return whole.byteLength <= bytes
    ? text
    : `${whole
        .subarray(0, bytes)
        .toString('utf8')
        .replace(/(?<!\uFFFD)\uFFFD+$/, '')} [cut here]`;
}

function tokensOf(messages: readonly ChatMessage[]): number {
  return messages.reduce(
    (sum, message) => sum + MESSAGE_TOKENS + Buffer.byteLength(textOf(message)) / BYTES_PER_TOKEN,
    0,
  );
}

function textOf(message: ChatMessage): string {
  const calls =
    message.role === 'assistant'
      ? (message.toolCalls ?? []).map(({ toolName, input }) => `${toolName} ${input}`)
      : [];
  return [message.content, ...calls].join(' ');
}

function lineOf(message: ChatMessage): string {
  const who = { system: 'Note', user: 'Caller', assistant: 'Agent', tool: 'Tool result' }[message.role];
  return `${who}: ${textOf(message)}`;
}
