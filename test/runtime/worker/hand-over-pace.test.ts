import { describe, expect, it } from 'vitest';
import { movesAtOnce } from '#runtime/worker/hand-over-pace.ts';

describe('the calls that a draining worker moves at the same time', () => {
  it('are one while there is time for one after the other, and if none is left', () => {
    for (const [calls, leftMs] of [
      [0, 15_000],
      [1, 15_000],
      [15, 15_000],
      [20, 55_000],
      [1, 100],
    ] as const)
      expect(movesAtOnce('phone', calls, leftMs)).toBe(1);
  });

  it('are as many as half of the time left needs', () => {
    expect(movesAtOnce('phone', 200, 15_000)).toBe(14);
    expect(movesAtOnce('phone', 200, 55_000)).toBe(4);
    expect(movesAtOnce('phone', 50, 1_000)).toBe(50);
  });

  it('are all of them when no time is left', () => {
    expect(movesAtOnce('phone', 7, 0)).toBe(7);
    expect(movesAtOnce('phone', 7, -100)).toBe(7);
    expect(movesAtOnce('phone', 7, 1)).toBe(7);
  });

  it('are twice as many of those on the web, which take longer to move', () => {
    expect(movesAtOnce('web', 14, 55_000)).toBe(1);
    expect(movesAtOnce('web', 200, 15_000)).toBe(27);
  });
});
