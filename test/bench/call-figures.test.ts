import { expect, it } from 'vitest';
import { callFigures } from '#bench/call-figures.ts';
import type { LoadResult } from '#bench/call-load.ts';

const load = (calls: number, takenShare: number | null = null): LoadResult => ({
  calls,
  troubles: [],
  turnShareMs: [],
  unanswered: 0,
  bargeInMs: [],
  offGridMs: [],
  gapMs: [],
  inviteToAnswerMs: [],
  answerToGreetingMs: [],
  takenShare,
  stalls: null,
  cpu: { perCallSetUp: 0.1, perCallMinute: 0.4 },
  cores: { product: 0, callers: 0, 'stand-ins': 0, capture: 0, probes: 0 },
  threads: [],
  residentBytes: 0,
});
const cpuOf = (result: LoadResult) =>
  callFigures(result).find(({ what }) => what === 'CPU of all threads per call-minute, phone');

it('gives a few calls more CPU than many, which share what a process does in any case', () => {
  expect([1, 10, 50, 100].map((calls) => cpuOf(load(calls))?.verdict)).toEqual([
    'met',
    'met',
    'missed',
    'missed',
  ]);
});

it('says how much of each core was taken away meanwhile', () => {
  expect(cpuOf(load(100, 0.098))?.load).toBe('100 calls, 10 % of each core taken away');
  expect(cpuOf(load(1))?.load).toBe('1 call');
});
