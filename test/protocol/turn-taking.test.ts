import { describe, expect, it } from 'vitest';
import type { Meaning } from '#protocol/audible-timeline.ts';
import { observeTurns } from '#protocol/turn-taking.ts';

const line = (means: Meaning, firstMs: number, lastMs: number) => ({ text: means, means, firstMs, lastMs });
const voice = (firstMs: number, lastMs: number) => ({ firstMs, lastMs });

describe('the turn-taking of a call', () => {
  it('without fault has a time for every line that wants an answer', () => {
    const lines = [line('turn', 1_000, 2_000), line('turn', 5_000, 6_000)];
    const agent = [voice(0, 900), voice(2_600, 4_000), voice(6_800, 7_000)];
    expect(observeTurns({ agent, lines })).toEqual({
      replyMs: [600, 800],
      ...{ lines: 2, asked: 2, unanswered: 0 },
      ...{ cutOffs: [], stopMs: [], missedInterruptions: [], talkOverMs: 0, longestSilenceMs: 800 },
    });
  });

  it('counts both voices at once only where the caller wants the turn', () => {
    const agent = [voice(0, 2_500), voice(4_000, 6_000)];
    const over = (means: Meaning) => observeTurns({ agent, lines: [line(means, 2_000, 4_500)] }).talkOverMs;
    expect([over('interruption'), over('part'), over('backchannel'), over('sound')]).toEqual([
      1_000, 1_000, 0, 0,
    ]);
  });

  it('has an interruption that silences the agent in time, and one that does not', () => {
    const agent = [voice(0, 2_400), voice(5_000, 9_000)];
    const lines = [line('interruption', 2_000, 3_000), line('interruption', 6_000, 7_000)];
    expect(observeTurns({ agent, lines })).toMatchObject({
      stopMs: [400, 3_000],
      missedInterruptions: ['interruption'],
    });
  });

  it('has the silence that a caller broke again, and one between two sentences of the agent', () => {
    const again = { agent: [], lines: [line('turn', 0, 1_000), line('turn', 5_500, 6_000)] };
    expect(observeTurns(again)).toMatchObject({ longestSilenceMs: 4_500, unanswered: 2 });
    const held = { agent: [voice(1_500, 2_000), voice(8_000, 9_000)], lines: [line('turn', 0, 1_000)] };
    expect(observeTurns(held).longestSilenceMs).toBe(6_000);
  });

  it('is observed in a call of any length', () => {
    const agent = Array.from({ length: 200_000 }, (_, index) => voice(index * 1_000, index * 1_000 + 400));
    expect(observeTurns({ agent, lines: [] }).longestSilenceMs).toBe(600);
  });
});
