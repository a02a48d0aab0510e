/**
 * A voice far behind the caller's is not attributed to the caller; the caller's own voice is, however its
 * level changes.
 */
import { describe, expect, it } from 'vitest';
import { Foreground } from '#media/voice-activity/foreground.ts';

const WINDOW_MS = 32;

/** Number of background windows in each stretch; stretches (level and duration) follow one another. */
function behind(...stretches: readonly (readonly [levelDb: number, ms: number])[]): number[] {
  const foreground = new Foreground();
  let atMs = 0;
  return stretches.map(([levelDb, ms]) => {
    let count = 0;
    for (const endMs = atMs + ms; atMs < endMs; atMs += WINDOW_MS)
      if (foreground.isBehind(levelDb, atMs)) count++;
    return count;
  });
}

describe('the foreground', () => {
  it('is the only voice on the line, however faint', () => {
    expect(behind([-48, 3_000])).toEqual([0]);
  });

  it('includes a television only until the caller has spoken', () => {
    const [before, caller, after] = behind([-42, 3_000], [-22, 1_000], [-42, 3_200]);
    // The first six windows may still be the end of the caller's last word.
    expect([before, caller, after]).toEqual([0, 0, 94]);
  });

  it('is the complete word: its consonants, 20 dB below its vowels, and its end', () => {
    const word = [
      [-22, 128],
      [-42, 160],
    ] as const;
    expect(behind([-22, 1_000], ...word, ...word, ...word)).toEqual([0, 0, 0, 0, 0, 0, 0]);
  });

  it('is not redefined by a cough or a shouted word: the caller’s next words are heard', () => {
    expect(behind([-28, 3_000], [-8, 300], [-28, 3_000])).toEqual([0, 0, 0]);
  });

  it('is a caller who lowers their voice, and after a while one who moved away', () => {
    expect(behind([-22, 3_000], [-34, 3_000])).toEqual([0, 0]);
    const foreground = new Foreground();
    for (let atMs = 0; atMs < 3_000; atMs += WINDOW_MS) foreground.isBehind(-22, atMs);
    expect(foreground.isBehind(-42, 4_000)).toBe(true);
    expect(foreground.isBehind(-42, 60_000)).toBe(false);
  });
});
