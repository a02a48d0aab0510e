import { describe, expect, it } from 'vitest';
import { HangDetector } from '#processes/hang-detector.ts';

describe('the hang detector', () => {
  it('counts the time without a sign of life', () => {
    const detector = new HangDetector(0);
    expect(detector.sample(500, 0)).toBe(500);
    expect(detector.sample(2_000, 0)).toBe(2_000);
    detector.alive(2_100);
    expect(detector.sample(2_500, 0)).toBe(400);
  });

  it('does not count time in which the machine did not schedule the process', () => {
    const detector = new HangDetector(0);
    detector.sample(500, 10_000);
    expect(detector.sample(2_500, 11_900)).toBe(600);
    // Waiting time before the last sign of life is no excuse.
    detector.alive(4_400);
    expect(detector.sample(4_500, 13_800)).toBe(0);
    expect(detector.sample(6_500, 13_800)).toBe(2_000);
  });

  it('counts nothing of a round in which the detector itself was late', () => {
    const detector = new HangDetector(0);
    detector.sample(500, 0);
    detector.skip(30_000);
    expect(detector.sample(30_500, 0)).toBe(1_000);
  });

  it('counts all time if the system reports no waiting time', () => {
    const detector = new HangDetector(0);
    detector.sample(500, null);
    expect(detector.sample(2_500, null)).toBe(2_500);
  });
});
