/** Explains a turn's latency waterfall in one sentence: the part that took longest, and the known reason. */
import { z } from 'zod';
import { type SessionItem, type TurnLatency, turnLatency } from '#protocol/session-record.ts';
import { meaningOf } from '#protocol/turn-rules.ts';

/**
 * The waterfall with its explanation, such as `the model’s first word took 3,412 ms (model error: HTTP 503)`.
 */
export const explainedTurn = turnLatency.extend({ explanation: z.string() });

const PARTS = {
  transcript_ms: 'the recogniser’s last words',
  first_token_ms: 'the model’s first word',
  first_sentence_ms: 'the model’s first sentence',
  first_audio_ms: 'the voice’s first sound',
  playout_ms: 'the way to the line',
} as const;
const NAMES = Object.keys(PARTS) as (keyof typeof PARTS)[];
/** Steps of a turn shorter than this are not given as a reason. */
const NOTICED_MS = 100;

/** Adds the explanation; `items` is the timeline of the session. */
export function explainTurn(
  turn: TurnLatency,
  items: readonly SessionItem[],
): z.output<typeof explainedTurn> {
  const longest = NAMES.reduce((most, name) => (turn[name] > turn[most] ? name : most));
  const awaited = turn.expectation ?? meaningOf(turn.endpoint_rule);
  const explanation =
    turn.endpoint_ms >= turn[longest]
      ? `waited ${milliseconds(turn.endpoint_ms)} for the caller to go on: ${awaited}`
      : `${PARTS[longest]} took ${milliseconds(turn[longest])}${because(turn, items)}`;
  return { ...turn, explanation };
}

/** Steps that ran or failed for the turn before its first sound. */
function because({ turn_id, speech_ended_at, total_ms }: TurnLatency, items: readonly SessionItem[]): string {
  const heardMs = Date.parse(speech_ended_at) + total_ms;
  const reasons = items
    .filter((item) => item.turn_id === turn_id && Date.parse(item.created_at) <= heardMs)
    .flatMap(reasonsOf);
  return reasons.length === 0 ? '' : ` (${reasons.join(', ')})`;
}

function reasonsOf(item: SessionItem): string[] {
  if (item.type === 'llm.endpoint_error')
    return [`model error: ${item.status === null ? item.message : `HTTP ${item.status}`}`];
  const isNoticed = 'latency_ms' in item && item.latency_ms !== null && item.latency_ms >= NOTICED_MS;
  if (!isNoticed) return [];
  if (item.type === 'tool_result') return [`tool ${item.tool_name} ${milliseconds(item.latency_ms ?? 0)}`];
  return item.type === 'knowledge_retrieval' ? [`knowledge ${milliseconds(item.latency_ms)}`] : [];
}

function milliseconds(ms: number): string {
  return `${Math.round(ms).toLocaleString('en-US')} ms`;
}
