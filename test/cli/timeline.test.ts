import { expect, it } from 'vitest';
import { itemLine, waterfall } from '#cli/timeline.ts';

const turn = {
  endpoint_ms: 500,
  transcript_ms: 0,
  first_token_ms: 300,
  first_sentence_ms: 100,
  first_audio_ms: 50,
  playout_ms: 50,
};

it('entries appear at their time in the call', () => {
  const item = {
    type: 'message',
    role: 'user',
    content: 'Two, please.',
    created_at: '2026-11-21T12:01:05.250Z',
  };
  expect(itemLine(item, '2026-11-21T12:00:00.000Z')).toBe(' 1:05.3  Caller  Two, please.');
});

it('bars share one scale, and the length of each is that of its turn', () => {
  const [slow, fast, legend] = waterfall([
    {
      ...turn,
      turn_id: 1,
      total_ms: 1_000,
      explanation: 'waited 500 ms for the caller to go on: a finished sentence',
    },
    { ...turn, endpoint_ms: 0, turn_id: 2, total_ms: 500, explanation: 'the model’s first word took 300 ms' },
  ]);
  expect(slow).toContain(`${'e'.repeat(25)}${'m'.repeat(15)}${'s'.repeat(5)}aaapp`);
  expect(fast).toContain(
    `500 ms  ${'m'.repeat(15)}${'s'.repeat(5)}aaapp${' '.repeat(25)}  the model’s first word took 300 ms`,
  );
  expect(legend).toContain('e endpointing');
});

it('a session without turns has no waterfall', () => {
  expect(waterfall([])).toEqual([]);
});
