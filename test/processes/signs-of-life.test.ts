import { describe, expect, it } from 'vitest';
import { giveSignsOfLife } from '#processes/signs-of-life.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

describe('signs of life', () => {
  it('are given every half second by a process that works', async () => {
    expect(await signsOf(3_000, () => false)).toEqual([
      [1_000, 1_000],
      [1_500, 1_500],
      [2_000, 2_000],
      [2_500, 2_500],
      [3_000, 3_000],
    ]);
  });

  it('are given every second by a process at rest, dated so that a hang is found as soon', async () => {
    expect(await signsOf(3_000, () => true)).toEqual([
      [1_000, 1_500],
      [2_000, 2_500],
      [3_000, 3_500],
    ]);
  });

  it('come oftener within a second of the first work, and rarer within a second of the last', async () => {
    const works = (nowMs: number) => nowMs > 1_200 && nowMs < 2_800;
    expect(await signsOf(5_000, (nowMs) => !works(nowMs))).toEqual([
      [1_000, 1_500],
      [2_000, 2_000],
      [2_500, 2_500],
      [3_000, 3_500],
      [4_000, 4_500],
      [5_000, 5_500],
    ]);
  });
});

/** The signs until `untilMs`: when each was given, and its date. */
async function signsOf(untilMs: number, isAtRest: (nowMs: number) => boolean): Promise<number[][]> {
  const clock = new ManualClock();
  const startMs = clock.now();
  const signs: number[][] = [];
  giveSignsOfLife(
    clock,
    () => isAtRest(clock.now() - startMs),
    (atMs) => signs.push([clock.now() - startMs, atMs - startMs]),
  );
  for (let ms = 0; ms < untilMs; ms += 100) await clock.advance(100);
  return signs;
}
