/**
 * A stand-in for Anthropic's Messages API, speaking its streaming protocol over a real socket: `POST
 * /v1/messages` is answered with `message_start`, content blocks of text and `tool_use` with their deltas,
 * `message_delta` with the stop reason and usage, and `message_stop`. Like the real API, it refuses a
 * conversation that does not begin with the user, and tool results that do not follow their calls.
 */
import type { ChatScript } from './openai-server.ts';
import { type SseAnswer, type SseRefusal, type SseServer, startSseServer } from './sse-server.ts';

interface Block {
  readonly type: string;
  readonly id?: string;
  readonly tool_use_id?: string;
}

interface Message {
  readonly role: string;
  readonly content: string | readonly Block[];
}

/**
 * Starts the stand-in; point `ANTHROPIC_BASE_URL` at its `url`. Scripts are used in order; the last one
 * repeats.
 */
export function startAnthropicServer(scripts: readonly ChatScript[]): Promise<SseServer> {
  return startSseServer(({ json }, index) => {
    const problem = problemOf(json['messages'] as readonly Message[]);
    if (problem !== null) return refusal(problem);
    return answerOf(
      scripts[Math.min(index, scripts.length - 1)] ?? { pieces: [], toolCalls: [] },
      String(json['model']),
      index,
    );
  });
}

function answerOf({ pieces, toolCalls }: ChatScript, model: string, index: number): SseAnswer {
  const usage = {
    input_tokens: 12,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 8,
    output_tokens: 1,
  };
  const message = {
    id: `msg_${index}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  const text = pieces.length === 0 ? [] : [{ type: 'text', text: '' }];
  const calls = toolCalls.map((call, position) => ({
    type: 'tool_use',
    id: `toolu_${index}_${position}`,
    name: call.name,
    input: {},
  }));
  const deltas = [
    ...(pieces.length === 0 ? [] : [pieces.map((piece) => ({ type: 'text_delta', text: piece }))]),
    ...toolCalls.map((call) =>
      halves(call.arguments).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    ),
  ];
  const blocks = [...text, ...calls].flatMap((content_block, position) => [
    event('content_block_start', { index: position, content_block }),
    ...(deltas[position] ?? []).map((delta) => event('content_block_delta', { index: position, delta })),
    event('content_block_stop', { index: position }),
  ]);
  const stop_reason = toolCalls.length > 0 ? 'tool_use' : 'end_turn';
  return {
    events: [
      event('message_start', { message }),
      event('ping', {}),
      ...blocks,
      event('message_delta', {
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: pieces.length + toolCalls.length },
      }),
      event('message_stop', {}),
    ],
    faultAt: 4,
    overloaded: event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
  };
}

function refusal(message: string): SseRefusal {
  return { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message } } };
}

/** Returns why the real API would answer 400, or null. */
function problemOf(messages: readonly Message[]): string | null {
  if (messages[0]?.role !== 'user') return 'messages: first message must use the "user" role';
  for (const [index, { content }] of messages.entries()) {
    for (const block of typeof content === 'string' ? [] : content) {
      const before = messages[index - 1]?.content;
      const isAnswer =
        Array.isArray(before) &&
        before.some((call: Block) => call.type === 'tool_use' && call.id === block.tool_use_id);
      if (block.type === 'tool_result' && !isAnswer)
        return `messages.${index}: unexpected tool_use_id ${block.tool_use_id}`;
    }
  }
  return null;
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** Arguments arrive in fragments that are not valid JSON on their own. */
function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}
