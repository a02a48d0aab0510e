import { describe, expect, it } from 'vitest';
import { type Answered, answer, type Manner } from './answering-callers.ts';

const CALLERS = 1_500;
const pairs = Array.from({ length: CALLERS }, (_, index) => ({
  unknown: answer(index + 1, false),
  known: answer(index + 1, true),
}));

function cutOffs(which: 'unknown' | 'known', manner?: Manner): number {
  return pairs.filter((pair) => pair[which].isCutOff && (!manner || pair[which].manner === manner)).length;
}

function newlyCutOff(manner: Manner): Answered[] {
  return pairs
    .filter(({ unknown, known }) => known.manner === manner && known.isCutOff && !unknown.isCutOff)
    .map(({ known }) => known);
}

function meanWaitMs(which: 'unknown' | 'known'): number {
  const waits = pairs.flatMap((pair) => waitOf(pair[which]));
  return waits.reduce((sum, ms) => sum + ms, 0) / waits.length;
}

function waitOf({ waitedMs }: Answered): number[] {
  return waitedMs === null ? [] : [waitedMs];
}

describe(`an agent that knows what it asked, and ${CALLERS} callers`, () => {
  it.each(['yes_goes_on', 'no_goes_on', 'groups', 'address', 'corrects', 'joint', 'country'] as const)(
    'cuts off no caller that it would not cut off otherwise: %s',
    (manner) => {
      // Some callers must be at risk, or the next line would prove nothing.
      expect(cutOffs('unknown', manner)).toBeGreaterThan(0);
      expect(newlyCutOff(manner)).toEqual([]);
    },
  );

  it('cuts off a fifth as many of those who say a number in groups', () => {
    expect(cutOffs('known', 'groups')).toBeLessThan(cutOffs('unknown', 'groups') / 5);
  });

  it('cuts off less than a fifth more of those who add something to a whole answer', () => {
    // The price of a sooner answer: they go on in the time that it saves.
    const adding = pairs.filter(({ known }) => known.manner === 'adds').length;
    expect(newlyCutOff('adds').length).toBeLessThan(0.2 * adding);
  });

  it('cuts off fewer in all, with those who add something to a whole answer', () => {
    expect(cutOffs('known')).toBeLessThan(0.8 * cutOffs('unknown'));
  });

  it('answers sooner', () => {
    expect(meanWaitMs('known')).toBeLessThan(0.9 * meanWaitMs('unknown'));
  });

  it('waits no longer for those who were asked for a part of a thing', () => {
    const asked = pairs.filter(({ known }) => known.manner === 'part');
    expect(asked.length).toBeGreaterThan(30);
    expect(asked.filter(({ unknown, known }) => known.waitedMs !== unknown.waitedMs)).toEqual([]);
  });

  it('waits at most another 1,925 ms for those who give less than was asked for', () => {
    const extraMs = pairs
      .filter(({ known }) => known.manner === 'less')
      .map(({ unknown, known }) => (known.waitedMs ?? 0) - (unknown.waitedMs ?? 0));
    expect(extraMs.length).toBeGreaterThan(20);
    expect(Math.max(...extraMs)).toBeLessThanOrEqual(1_925);
  });

  it('answers every word once', () => {
    expect(pairs.filter(({ known }) => !known.isWhole)).toEqual([]);
  });
});
