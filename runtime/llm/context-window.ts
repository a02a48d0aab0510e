/**
 * Keeps a long conversation within its model's window: well before it is full, the older part is summarised
 * in the background, and the summary stands in its place. Cuts only where the person speaks, so that a tool
 * call is never parted from its result. What does not fit before a summary is there is left out, oldest
 * first.
 */
import type { ChatMessage } from './llm.ts';

/** The conversation may fill this much of its room before the older part is summarised… */
const SUMMARISE_FROM = 0.7;
/** …down to about this much. */
const KEEP = 0.4;
/**
 * Bytes of one token, on the safe side for English and about right for scripts of three bytes a character.
 */
const BYTES_PER_TOKEN = 3;
/** A message's role and separators. */
const MESSAGE_TOKENS = 4;
const ANSWER_TOKENS = 1_024;
/** Of the window; estimates may be wrong. */
const SAFE = 0.9;

/** What a window is built from. */
export interface ContextWindowOptions {
  /** Tokens of the model's whole window. */
  readonly contextTokens: number;
  /** Summarises a conversation, given as lines of text. */
  readonly summarise: (transcript: string) => Promise<string>;
}

/** The window of one call's model. */
export class ContextWindow {
  readonly #options: ContextWindowOptions;
  #summary: { readonly text: string; readonly covers: number } | null = null;
  #isSummarising = false;

  constructor(options: ContextWindowOptions) {
    this.#options = options;
  }

  /**
   * The conversation as it fits beside the messages that stand before it. `conversation` is always the whole
   * of it: it only grows at its end, except for the last message of the person and what follows.
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

/** The first message of the person from which on everything fits; the last one at the latest. */
function cutFor(messages: readonly ChatMessage[], room: number): number {
  const starts = messages.flatMap((message, index) => (message.role === 'user' ? [index] : []));
  return starts.find((start) => tokensOf(messages.slice(start)) <= room) ?? starts.at(-1) ?? 0;
}

/** The newest part that fits; when the last exchange alone does not, its tool results are shortened. */
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
