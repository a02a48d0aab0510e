import { describe, expect, it } from 'vitest';
import type { MainThreadTimes } from '#base/platform.ts';
import { HangDetector } from '#processes/hang-detector.ts';

const sleeping = (waitedMs = 0): MainThreadTimes => ({ ranMs: 0, waitedMs, state: 'sleeping' });
const running = (ranMs: number, waitedMs = 0): MainThreadTimes => ({ ranMs, waitedMs, state: 'runnable' });
const blocked: MainThreadTimes = { ranMs: 0, waitedMs: 0, state: 'blocked' };

/**
 * Samples every `everyMs` until `untilMs`, of a process that gives no sign of life; its last result.
 * `timesAt` are those of its main thread at a time.
 */
function sampleEvery(
  detector: HangDetector,
  everyMs: number,
  untilMs: number,
  timesAt: (nowMs: number) => MainThreadTimes = () => sleeping(),
): number {
  let hungMs = 0;
  for (let nowMs = everyMs; nowMs <= untilMs; nowMs += everyMs)
    hungMs = detector.sample(nowMs, timesAt(nowMs));
  return hungMs;
}

describe('the hang detector', () => {
  it('counts the time without a sign of life', () => {
    const detector = new HangDetector(0);
    expect(detector.sample(500, sleeping())).toBe(500);
    expect(detector.sample(1_200, sleeping())).toBe(1_200);
    detector.alive(1_300);
    expect(detector.sample(1_700, sleeping())).toBe(400);
  });

  it('does not count time in which the machine did not schedule the process', () => {
    const detector = new HangDetector(0);
    detector.sample(500, sleeping(10_000));
    expect(detector.sample(2_500, sleeping(11_900))).toBe(600);
    // Waiting time before the last sign of life is no excuse.
    detector.alive(4_400);
    expect(detector.sample(4_500, sleeping(13_800))).toBe(0);
    expect(detector.sample(5_200, sleeping(13_800))).toBe(700);
  });

  it('counts nothing of a wait for CPU that still lasts, which the kernel has not added yet', () => {
    const detector = new HangDetector(0);
    detector.sample(500, running(100));
    detector.alive(500);
    expect(sampleEvery(detector, 500, 60_000, () => running(100))).toBe(0);
  });

  it('counts no wait that a sample comes into, although the kernel adds it later and all at once', () => {
    // A limit on its group lets it run for 15 ms of each second.
    const limited = (nowMs: number) =>
      running(15 * Math.floor(nowMs / 1_000), 985 * Math.floor(nowMs / 1_000));
    expect(sampleEvery(new HangDetector(0), 500, 60_000, limited)).toBeLessThan(2_000);
  });

  it('counts of an endless loop what it ran, so that one with half a processor takes twice the time', () => {
    const alone = sampleEvery(new HangDetector(0), 500, 2_500, (nowMs) => running(nowMs));
    expect(alone).toBe(2_500);
    const shared = sampleEvery(new HangDetector(0), 500, 5_000, (nowMs) => running(nowMs / 2, nowMs / 2));
    expect(shared).toBe(2_750);
  });

  it('counts no time in which a disk lets the process wait, until no disk takes that long', () => {
    const detector = new HangDetector(0);
    detector.sample(1, blocked);
    detector.alive(1);
    expect(sampleEvery(detector, 500, 30_000, () => blocked)).toBe(0);
    expect(sampleEvery(detector, 500, 62_500, () => blocked)).toBeGreaterThan(2_000);
    // A sign of life gives it the whole time again.
    detector.alive(62_500);
    expect(detector.sample(63_500, blocked)).toBe(0);
  });

  it('counts little of a time in which the whole machine was paused', () => {
    const detector = new HangDetector(0);
    detector.sample(500, sleeping());
    expect(detector.sample(30_000, sleeping())).toBe(1_800);
  });

  it('counts no time of such a pause before a sign of life that was given in it', () => {
    const detector = new HangDetector(0);
    detector.sample(500, sleeping());
    detector.alive(29_900);
    expect(detector.sample(30_000, sleeping())).toBe(100);
  });

  it.each([500, 700, 900, 1_000])(
    'finds a hang within 2 s of its limit although a sample comes only every %i ms',
    (everyMs) => {
      for (const timesAt of [() => sleeping(), (nowMs: number) => running(nowMs)]) {
        expect(sampleEvery(new HangDetector(0), everyMs, 4_000, timesAt)).toBeGreaterThanOrEqual(2_000);
        expect(sampleEvery(new HangDetector(0), everyMs, 7_000, timesAt)).toBeGreaterThanOrEqual(5_000);
      }
    },
  );

  it('counts all time if the system reports no times', () => {
    const detector = new HangDetector(0);
    detector.sample(500, null);
    expect(detector.sample(1_200, null)).toBe(1_200);
  });
});
