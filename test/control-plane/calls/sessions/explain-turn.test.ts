import { describe, expect, it } from 'vitest';
import { explainTurn } from '#control-plane/calls/sessions/explain-turn.ts';
import type { SessionItem, TurnLatency } from '#protocol/session-record.ts';

const QUICK: TurnLatency = {
  turn_id: 3,
  speech_ended_at: '2026-11-22T08:00:00.000Z',
  endpoint_ms: 550,
  transcript_ms: 20,
  first_token_ms: 90,
  first_sentence_ms: 40,
  first_audio_ms: 60,
  playout_ms: 20,
  total_ms: 780,
  endpoint_rule: 'plain',
  speculative: true,
};
const explain = (over: Partial<TurnLatency>, items: readonly SessionItem[] = []) =>
  explainTurn({ ...QUICK, ...over }, items).explanation;
const tool = (latency_ms: number, created_at: string, turn_id = 3): SessionItem => ({
  type: 'tool_result',
  call_id: 'call',
  tool_name: 'find_booking',
  tool_source: null,
  status: 'completed',
  output: '{}',
  output_truncated: false,
  error: null,
  latency_ms,
  turn_id,
  created_at,
});

describe('the explanation of a turn', () => {
  it('names the wait for the caller and the reason for its length', () => {
    expect(explain({})).toBe('waited 550 ms for the caller to go on: no sign that more was to come');
    expect(explain({ endpoint_ms: 1_375, total_ms: 1_605, endpoint_rule: 'half_number' })).toBe(
      'waited 1,375 ms for the caller to go on: half a number',
    );
  });

  it('names what the agent had asked for, if that decided the wait', () => {
    const expectation = 'expected 10 digits, has 10';
    expect(explain({ endpoint_ms: 325, endpoint_rule: 'as_expected', expectation })).toBe(
      'waited 325 ms for the caller to go on: expected 10 digits, has 10',
    );
  });

  it('names the recogniser, the model, the voice or the line', () => {
    expect(explain({ transcript_ms: 900 })).toBe('the recogniser’s last words took 900 ms');
    expect(explain({ first_token_ms: 3_412.4 })).toBe('the model’s first word took 3,412 ms');
    expect(explain({ first_sentence_ms: 700 })).toBe('the model’s first sentence took 700 ms');
    expect(explain({ first_audio_ms: 2_000 })).toBe('the voice’s first sound took 2,000 ms');
    expect(explain({ playout_ms: 800 })).toBe('the way to the line took 800 ms');
  });

  it('adds what ran or failed before the turn’s first sound, if it took long enough to matter', () => {
    const failed: SessionItem = {
      type: 'llm.endpoint_error',
      message: 'overloaded',
      status: 503,
      turn_id: 3,
      created_at: '2026-11-22T08:00:01.000Z',
    };
    const items = [
      failed,
      tool(1_200, '2026-11-22T08:00:02.000Z'),
      tool(40, '2026-11-22T08:00:02.000Z'),
      tool(5_000, '2026-11-22T08:00:09.000Z'),
      tool(1_000, '2026-11-22T08:00:02.000Z', 2),
    ];
    expect(explain({ first_token_ms: 3_412, total_ms: 4_102 }, items)).toBe(
      'the model’s first word took 3,412 ms (model error: HTTP 503, tool find_booking 1,200 ms)',
    );
  });
});
