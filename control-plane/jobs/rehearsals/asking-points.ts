/** The moments of a call at which its agent's model was asked, and what it answered. Pure. */
import { LIMITS } from '#config/limits.ts';
import { isHangUpCall } from '#protocol/hang-up-call.ts';
import type { TurnAnswer } from '#protocol/judged-turns.ts';
import type { SessionItem } from '#protocol/session-record.ts';

/** One moment. */
export interface AskingPoint {
  /** Entries of the timeline before the answer. */
  readonly item: number;
  /** Time of the last of them, Unix ms. */
  readonly atMs: number;
  /** Text of the call before the answer, bytes. */
  readonly bytes: number;
  /** As the caller heard it. */
  readonly answer: TurnAnswer;
}

type AnswerItem = Extract<SessionItem, { type: 'message' | 'tool_call' }>;

/**
 * The moments after words of the caller, and after the results of tools. Left out: where the agent did not
 * answer, where a colleague did, where a transfer followed, which needs a telephone, and where the call
 * before is longer than a question may be.
 */
export function askingPoints(items: readonly SessionItem[]): AskingPoint[] {
  let bytes = 0;
  return items.flatMap((item, index): AskingPoint[] => {
    bytes += bytesOf([item]);
    if (!isAsking(item) || bytes > LIMITS.judgedTurnBytes || index >= LIMITS.judgedTurnEntries) return [];
    const answer = answerAfter(items, index + 1);
    if (answer.length === 0 || answer.some(isTransfer)) return [];
    return [{ item: index + 1, atMs: Date.parse(item.created_at), bytes, answer: toAnswer(answer) }];
  });
}

/** Words, calls and results, as a model reads them. */
export function bytesOf(items: readonly SessionItem[]): number {
  return items.reduce((sum, item) => {
    if (item.type === 'message') return sum + Buffer.byteLength(item.content);
    if (item.type === 'tool_call') return sum + Buffer.byteLength(item.input);
    return item.type === 'tool_result' ? sum + Buffer.byteLength(item.output ?? item.error ?? '') : sum;
  }, 0);
}

function isAsking(item: SessionItem): boolean {
  return (
    item.type === 'tool_result' ||
    (item.type === 'message' && item.role === 'user' && item.content.trim() !== '')
  );
}

/** The entries of one answer. A line that belongs to no turn, such as one after a silence, is none. */
function answerAfter(items: readonly SessionItem[], from: number): AnswerItem[] {
  const answer: AnswerItem[] = [];
  // Read in place: a copy for each moment would make a long call quadratic.
  for (let index = from; index < items.length; index += 1) {
    const item = items[index];
    if (!item || item.type === 'knowledge_retrieval') continue;
    const isAnswer = item.type === 'tool_call' || (item.type === 'message' && item.role === 'assistant');
    if (!isAnswer || item.turn_id === null || item.turn_id !== (answer[0]?.turn_id ?? item.turn_id)) break;
    answer.push(item);
  }
  return answer;
}

/** Besides hanging up, the only tool of the call itself. */
function isTransfer(item: AnswerItem): boolean {
  return item.type === 'tool_call' && item.tool_source === 'builtin' && !isHangUpCall(item.tool_name);
}

function toAnswer(items: readonly AnswerItem[]): TurnAnswer {
  return {
    text: items.flatMap((item) => (item.type === 'message' ? [item.content.trim()] : [])).join(' '),
    calls: items.flatMap((item) =>
      item.type === 'tool_call' ? [{ tool_name: item.tool_name, arguments: item.input }] : [],
    ),
  };
}
