import { describe, expect, it } from 'vitest';
import { HangDetector } from '#processes/hang-detector.ts';

/** Samples every `everyMs` until `untilMs`, of a process that gives no sign of life; its last result. */
function sampleEvery(detector: HangDetector, everyMs: number, untilMs: number): number {
  let hungMs = 0;
  for (let nowMs = everyMs; nowMs <= untilMs; nowMs += everyMs) hungMs = detector.sample(nowMs, 0);
  return hungMs;
}

describe('the hang detector', () => {
  it('counts the time without a sign of life', () => {
    const detector = new HangDetector(0);
    expect(detector.sample(500, 0)).toBe(500);
    expect(detector.sample(1_200, 0)).toBe(1_200);
    detector.alive(1_300);
    expect(detector.sample(1_700, 0)).toBe(400);
  });

  it('does not count time in which the machine did not schedule the process', () => {
    const detector = new HangDetector(0);
    detector.sample(500, 10_000);
    expect(detector.sample(2_500, 11_900)).toBe(600);
    // Waiting time before the last sign of life is no excuse.
    detector.alive(4_400);
    expect(detector.sample(4_500, 13_800)).toBe(0);
    expect(detector.sample(5_200, 13_800)).toBe(700);
  });

  it('counts little of a time in which the whole machine was paused', () => {
    const detector = new HangDetector(0);
    detector.sample(500, 0);
    expect(detector.sample(30_000, 0)).toBe(1_800);
  });

  it('counts no time of such a pause before a sign of life that was given in it', () => {
    const detector = new HangDetector(0);
    detector.sample(500, 0);
    detector.alive(29_900);
    expect(detector.sample(30_000, 0)).toBe(100);
  });

  it.each([500, 700, 900, 1_000])(
    'finds a hang within 2 s of its limit although a sample comes only every %i ms',
    (everyMs) => {
      expect(sampleEvery(new HangDetector(0), everyMs, 4_000)).toBeGreaterThanOrEqual(2_000);
      expect(sampleEvery(new HangDetector(0), everyMs, 7_000)).toBeGreaterThanOrEqual(5_000);
    },
  );

  it('counts all time if the system reports no waiting time', () => {
    const detector = new HangDetector(0);
    detector.sample(500, null);
    expect(detector.sample(1_200, null)).toBe(1_200);
  });
});
