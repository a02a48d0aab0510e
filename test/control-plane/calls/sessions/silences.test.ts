import { expect, it } from 'vitest';
import { explainSilence } from '#control-plane/calls/sessions/silences.ts';

it('a silence is explained in one sentence, part by part', () => {
  const silence = {
    turn_id: 3,
    started_at: '2026-01-01T10:00:00.000Z',
    duration_ms: 4_285,
    ended_by: 'agent' as const,
    causes: [
      { cause: 'endpoint' as const, rule: 'half_number', ms: 1_375 },
      { cause: 'answer' as const, rule: 'retried', ms: 2_910 },
      { cause: 'tool' as const, rule: 'look_up', ms: 1_200.4 },
      // Too short to be heard.
      { cause: 'sentence' as const, rule: null, ms: 3 },
    ],
    decisions: [],
  };
  expect(explainSilence(silence).explanation).toBe(
    'waited 1,375 ms: half a number; 2,910 ms: the answer (it failed and was asked again); 1,200 ms: tool ' +
      'look_up',
  );
});
