import { describe, expect, it } from 'vitest';
import type { DifferenceKind, RunOutcome } from '#protocol/rehearsal.ts';
import { addCall, NO_REHEARSED_CALLS, resultOf } from '#protocol/rehearsal-tally.ts';

const STARTED_MS = Date.parse('2026-11-01T09:00:00.000Z');
const NONE = { hold_lines: 0, interruptions: 0, keys: 0, transfers: 0 };

function call(id: string, kind: DifferenceKind | null, caused = 0): RunOutcome {
  return {
    outcome: 'run',
    session_id: id,
    language: 'en',
    difference: kind && { kind, was: null, would_be: { at_ms: STARTED_MS + 12_340, did: 'generate' } },
    judged: kind ? 0.5 : 1,
    pauses: {
      ...{ all: 10, judged: 8, cut_off: 0, would_cut_off: caused, caused, spared: 0, unknown: 0 },
      ...{ first_caused_at_ms: caused > 0 ? STARTED_MS + 5_000 : null, saved_ms: 800, taken: 8 },
    },
    was: NONE,
    would_be: { ...NONE, hold_lines: kind === 'hold_line' ? 1 : 0 },
  };
}

const facts = { hour: 9, number: '+15550100000', startedMs: STARTED_MS };
const resultOver = (calls: readonly RunOutcome[], over: Partial<typeof facts> = {}) =>
  resultOf(calls.reduce((tally, one) => addCall(tally, one, { ...facts, ...over }), NO_REHEARSED_CALLS));

describe('the result of a rehearsal', () => {
  it('has every figure with an interval', () => {
    const { all } = resultOver([
      ...Array.from({ length: 90 }, (_, index) => call(`same-${index}`, null)),
      ...Array.from({ length: 10 }, (_, index) => call(`held-${index}`, 'hold_line')),
    ]);
    expect(all).toMatchObject({ calls: 100, differing: 10, judged_pauses: 800 });
    expect(all.differing_share).toEqual({ value: 0.1, low: 0.0552, high: 0.1744 });
    expect(all.first_differences).toMatchObject({ hold_line: 10, reply_earlier: 0 });
    expect(all.hold_lines).toMatchObject({ was: 0, would_be: 10, change: { value: 0.1 } });
    expect(all.waiting).toMatchObject({ saved_total_ms: 80_000, saved_ms_per_turn: { value: 100 } });
    expect(all.cut_offs.caused_share).toMatchObject({ value: 0, low: 0 });
    expect(all.cut_offs.caused_share.high).toBeGreaterThan(0);
  });

  it('is the same whether its sums were stored in between or not', () => {
    const once = addCall(NO_REHEARSED_CALLS, call('a', 'key', 1), facts);
    const stored = JSON.parse(JSON.stringify(once)) as typeof once;
    const [kept, read] = [once, stored].map((tally) => resultOf(addCall(tally, call('b', null), facts)));
    expect(read).toEqual(kept);
  });

  it('is divided by hour, language and number', () => {
    const result = resultOver([call('a', null)]);
    expect(result.by_hour.map(({ name }) => name)).toEqual(['09']);
    expect(result.by_language.map(({ name }) => name)).toEqual(['en']);
    expect(result.by_number.map(({ name, calls }) => [name, calls])).toEqual([['+15550100000', 1]]);
  });

  it('has a bounded number of groups, however many numbers there are', () => {
    const tally = Array.from({ length: 200 }, (_, index) => index).reduce(
      (sums, index) => addCall(sums, call(`${index}`, null), { ...facts, number: `+${index}` }),
      NO_REHEARSED_CALLS,
    );
    const { by_number } = resultOf(tally);
    expect(by_number.length).toBeLessThanOrEqual(61);
    expect(by_number.reduce((sum, { calls }) => sum + calls, 0)).toBe(200);
  });

  it('names ten calls to listen to: the worst new cut-offs first, then every kind of difference', () => {
    const calls = [
      ...Array.from({ length: 30 }, (_, index) => call(`earlier-${index}`, 'reply_earlier')),
      ...Array.from({ length: 20 }, (_, index) => call(`cut-${index}`, 'reply_earlier', 1 + index)),
      call('sold', 'transfer'),
      call('keyed', 'key'),
    ];
    const { to_listen } = resultOver(calls);
    expect(to_listen).toHaveLength(10);
    expect(to_listen.slice(0, 4).map(({ session_id }) => session_id)).toEqual([
      'cut-19',
      'cut-18',
      'cut-17',
      'cut-16',
    ]);
    expect(to_listen[0]).toMatchObject({ why: 'cut_off', second: 5 });
    expect(to_listen.map(({ session_id }) => session_id)).toEqual(expect.arrayContaining(['sold', 'keyed']));
    expect(to_listen.find(({ session_id }) => session_id === 'sold')).toMatchObject({
      why: 'transfer',
      second: 12.3,
    });
    expect(new Set(to_listen.map(({ session_id }) => session_id)).size).toBe(10);
  });
});
