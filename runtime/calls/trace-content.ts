/**
 * The words of a call as attributes of spans, in the JSON of OpenTelemetry's conventions. Every attribute is
 * bounded: a collector may refuse a large one, and with it the spans sent beside it.
 */
import { GEN_AI_CONTENT } from '#config/gen-ai.ts';
import type { SpanAttributes } from '#config/tracing.ts';
import type { ChatMessage, FinishReason, ToolCall } from '../llm/llm.ts';

/** Longest text of one part of a message, characters. */
const MAX_TEXT_CHARS = 4_000;
/** Longest attribute, characters; of a conversation, the newest messages are kept. */
const MAX_ATTRIBUTE_CHARS = 16_000;
/** Texts are not cut below this length: the mark of a cut has its place in them. */
const MIN_TEXT_CHARS = 50;
const CUT = '… (cut)';

type Part =
  | { readonly type: 'text'; readonly content: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: unknown }
  | { readonly type: 'tool_call_response'; readonly id: string; readonly response: string };

interface Message {
  readonly role: string;
  readonly parts: readonly Part[];
  readonly finish_reason?: FinishReason | 'error' | undefined;
}

/** The messages of a request to a model. */
export function requestContent(messages: readonly ChatMessage[]): SpanAttributes {
  const instructions = messages.filter(({ role }) => role === 'system').map(({ content }) => text(content));
  return {
    [GEN_AI_CONTENT.instructions]: newestJson(instructions),
    [GEN_AI_CONTENT.input]: newestJson(messages.filter(({ role }) => role !== 'system').map(messageOf)),
  };
}

/** A model's answer. */
export function answerContent(answer: {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** Undefined: the model did not say, or was not heard out. */
  readonly finishReason: FinishReason | 'error' | undefined;
}): SpanAttributes {
  const parts = [...(answer.text === '' ? [] : [text(answer.text)]), ...answer.calls.map(callOf)];
  return {
    [GEN_AI_CONTENT.output]: newestJson([
      { role: 'assistant', parts, finish_reason: answer.finishReason } satisfies Message,
    ]),
  };
}

/** The words that a recogniser understood. */
export function heardContent(words: string): SpanAttributes {
  return { [GEN_AI_CONTENT.output]: newestJson([{ role: 'user', parts: [text(words)] } satisfies Message]) };
}

/** The text for a synthesiser. */
export function spokenContent(words: string): SpanAttributes {
  return {
    [GEN_AI_CONTENT.input]: newestJson([{ role: 'assistant', parts: [text(words)] } satisfies Message]),
  };
}

/** A tool's arguments and result. */
export function toolContent(input: string | null, output: string | null): SpanAttributes {
  return {
    [GEN_AI_CONTENT.toolArguments]: input === null ? null : cut(input, MAX_ATTRIBUTE_CHARS),
    [GEN_AI_CONTENT.toolResult]: output === null ? null : cut(output, MAX_ATTRIBUTE_CHARS),
  };
}

/** A search and the passages found. */
export function searchContent(
  query: string,
  documents: readonly { readonly id: string; readonly content: string }[],
): SpanAttributes {
  return {
    [GEN_AI_CONTENT.query]: cut(query, MAX_TEXT_CHARS),
    [GEN_AI_CONTENT.documents]: newestJson(
      documents.map(({ id, content }) => ({ id, content: cut(content, MAX_TEXT_CHARS) })),
    ),
  };
}

function messageOf(message: ChatMessage): Message {
  if (message.role === 'tool')
    return {
      role: 'tool',
      parts: [
        { type: 'tool_call_response', id: message.callId, response: cut(message.content, MAX_TEXT_CHARS) },
      ],
    };
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []).map(callOf) : [];
  return {
    role: message.role,
    parts: [...(message.content === '' ? [] : [text(message.content)]), ...calls],
  };
}

function callOf({ callId, toolName, input }: ToolCall): Part {
  return { type: 'tool_call', id: callId, name: toolName, arguments: cut(input, MAX_TEXT_CHARS) };
}

function text(content: string): Part {
  return { type: 'text', content: cut(content, MAX_TEXT_CHARS) };
}

function cut(content: string, maxChars: number): string {
  return content.length <= maxChars ? content : content.slice(0, maxChars - CUT.length) + CUT;
}

/** The last entries, as many as fit into an attribute, as JSON; of the last one at least a part. */
function newestJson(entries: readonly unknown[]): string | null {
  const kept: string[] = [];
  let chars = 2;
  for (const entry of entries.toReversed()) {
    const json = JSON.stringify(entry);
    chars += json.length + 1;
    if (chars > MAX_ATTRIBUTE_CHARS) {
      if (kept.length === 0) kept.push(shortJson(entry));
      break;
    }
    kept.unshift(json);
  }
  return kept.length === 0 ? null : cut(`[${kept.join(',')}]`, MAX_ATTRIBUTE_CHARS);
}

/** An entry with many texts, or many characters that JSON escapes: its texts are cut until it fits. */
function shortJson(entry: unknown): string {
  let json = '';
  for (let chars = MAX_TEXT_CHARS; chars >= MIN_TEXT_CHARS; chars = Math.floor(chars / 2)) {
    json = JSON.stringify(entry, (_, value) => (typeof value === 'string' ? cut(value, chars) : value));
    if (json.length + 2 <= MAX_ATTRIBUTE_CHARS) break;
  }
  return json;
}
