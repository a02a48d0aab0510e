import { describe, expect, it } from 'vitest';
import { longestPart, median, slowestTurn, type Turn } from '../../web/console/src/calls/slowest-turn.ts';

const turn = (turn_id: number, parts: Partial<Turn>): Turn => {
  const all = {
    endpoint_ms: 0,
    transcript_ms: 0,
    first_token_ms: 0,
    first_sentence_ms: 0,
    first_audio_ms: 0,
    playout_ms: 0,
    ...parts,
  };
  const total_ms =
    all.endpoint_ms +
    all.transcript_ms +
    all.first_token_ms +
    all.first_sentence_ms +
    all.first_audio_ms +
    all.playout_ms;
  return {
    turn_id,
    speech_ended_at: '2026-11-22T08:00:00.000Z',
    ...all,
    total_ms,
    endpoint_rule: 'plain',
    speculative: false,
    explanation: '',
  };
};

describe('the slowest turn of a call', () => {
  it('is the longest wait, shown with its longest part and that part’s usual time', () => {
    const slow = turn(2, { endpoint_ms: 550, first_token_ms: 3_400 });
    const turns = [
      turn(1, { endpoint_ms: 900, first_token_ms: 300 }),
      slow,
      turn(3, { endpoint_ms: 550, first_token_ms: 400 }),
    ];
    const found = slowestTurn(turns);
    expect(found).toMatchObject({ turn: slow, usualMs: 400 });
    expect(found?.part[1]).toBe('Model’s first word');
  });

  it('has no usual time with a single turn, and does not exist without turns', () => {
    expect(slowestTurn([turn(1, { endpoint_ms: 550 })])?.usualMs).toBeNull();
    expect(slowestTurn([])).toBeNull();
  });

  it('has as its longest part the first of equally long ones', () => {
    expect(longestPart(turn(1, { first_audio_ms: 90, playout_ms: 90 }))[0]).toBe('first_audio_ms');
    expect([median([3, 1, 2]), median([])]).toEqual([2, null]);
  });
});
