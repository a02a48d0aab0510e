import { describe, expect, it } from 'vitest';
import { type Judged, missesOf } from './verdict.ts';

const BOOKS = { sessions: 25, dropped: [], takenOver: 9, unreported: 0, repeated: 0, flaws: [] };

/** A machine with nine calls was lost, and each was taken over after five seconds. */
const LOSS: Judged = {
  of: { isLoss: true, limitMs: 12_000 },
  ...{ phones: 20, participants: 5, heard: 20, problems: [], books: BOOKS },
  gapsMs: new Array<number>(9).fill(5_000),
  struck: { calls: 9, probed: [{ of: 'the worker', before: true, during: false }] },
};
/** Nobody noticed that Redis was away. */
const OUTAGE: Judged = {
  ...LOSS,
  of: { isLoss: false, limitMs: 0 },
  books: { ...BOOKS, takenOver: 0 },
  gapsMs: [],
  struck: { calls: 0, probed: [{ of: 'Redis', before: true, during: false }] },
};

describe('the verdict on a lost machine', () => {
  it('is good if its calls, and no others, are taken over in time', () => {
    expect(missesOf(LOSS)).toEqual([]);
  });

  it('is bad if no call was taken over and nobody noticed anything', () => {
    const result = { ...LOSS, gapsMs: [], books: { ...BOOKS, takenOver: 0 } };
    expect(missesOf(result)).toEqual(['no call was taken over', 'nobody noticed the loss']);
  });

  it('is bad if more calls are disturbed than the machine had', () => {
    const result = { ...LOSS, gapsMs: new Array<number>(14).fill(5_000) };
    expect(missesOf(result)).toEqual(['14 calls were disturbed, but the lost machine had 9']);
  });

  it('is bad if one caller of many never hears the agent again, though p95 is within the limit', () => {
    const gapsMs = [...new Array<number>(24).fill(5_000), Number.POSITIVE_INFINITY];
    const result = { ...LOSS, gapsMs, struck: { ...LOSS.struck, calls: 25 } };
    expect(missesOf(result)).toEqual(['1 callers never heard the agent again']);
  });

  it('is bad if the agent is heard again too late', () => {
    const result = { ...LOSS, gapsMs: new Array<number>(9).fill(12_500) };
    expect(missesOf(result)).toEqual(['p95 of the gap was 12.5 s']);
  });

  it('is bad if the machine works in spite of the fault, or did not work before', () => {
    const probed = [
      { of: 'the worker', before: true, during: true },
      { of: 'the control plane', before: false, during: false },
    ];
    expect(missesOf({ ...LOSS, struck: { calls: 9, probed } })).toEqual([
      'the worker: worked in spite of the fault',
      'the control plane: did not work before the fault either',
    ]);
  });
});

describe('the verdict on an outage that nobody may notice', () => {
  it('is good if no call is disturbed', () => {
    expect(missesOf(OUTAGE)).toEqual([]);
  });

  it('is bad if a single call is disturbed', () => {
    expect(missesOf({ ...OUTAGE, gapsMs: [1_200] })).toEqual(['1 calls were disturbed']);
  });

  it('is bad if what was to be away answered', () => {
    const probed = [{ of: 'Redis', before: true, during: true }];
    expect(missesOf({ ...OUTAGE, struck: { calls: 0, probed } })).toEqual([
      'Redis: worked in spite of the fault',
    ]);
  });
});
