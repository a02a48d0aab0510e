/** How far rehearsals were from what the calls really do, over many calls, and the bounds it must keep. */
import { addCall, NO_REHEARSED_CALLS, type RehearsalTally, resultOf } from '#protocol/rehearsal-tally.ts';
import type { RehearsedTwice } from './rehearse-twice.ts';

interface Both {
  readonly predicted: number;
  readonly actual: number;
}

/** Errors over a group of calls. */
export interface RehearsalError {
  readonly calls: number;
  /** Shares of calls that go another way. */
  readonly predictedShare: number;
  readonly actualShare: number;
  /** Share of calls said to differ that do not, or the other way around. */
  readonly wronglyShare: number;
  /** Of the calls that differ and were said to: within 20 ms, and of the same kind. */
  readonly sameMomentShare: number;
  readonly sameKindShare: number;
  /** Cut-offs in a hundred of the pauses that both calls have, and of all judged pauses of each. */
  readonly sameCutOffs: Both;
  readonly allCutOffs: Both;
  /** Of a hundred pauses that both have: further cut-offs that are possible, as the rehearsal says. */
  readonly unknownCutOffs: number;
  /** Share of the judged pauses that the call under the draft has, too. */
  readonly samePauseShare: number;
  /** Mean wait saved in a turn that both calls have, ms. */
  readonly savedMs: Both;
}

/** Largest errors, of each draft and of all together. */
export const BOUNDS = {
  differingShare: 0.005,
  wronglyShare: 0.005,
  sameMomentShare: 0.99,
  sameKindShare: 0.99,
  /** Of a hundred pauses that both have, beyond what is called unknown. */
  cutOffs: 3,
  /** Of a turn, or the share of its real saving if that is more. */
  savedMs: 40,
  savedShare: 0.15,
};

/** A span of the recogniser's interims: two moments within it are one. */
const SAME_MOMENT_MS = 20;

/** Compares predictions with the truth. */
export function errorOf(calls: readonly RehearsedTwice[]): RehearsalError {
  const both = calls.filter(({ actualAtMs, predictedAtMs }) => actualAtMs !== null && predictedAtMs !== null);
  const wrongly = calls.filter(
    ({ actualAtMs, predictedAtMs }) => (actualAtMs === null) !== (predictedAtMs === null),
  );
  const total = (of: (call: RehearsedTwice) => number) => calls.reduce((sum, call) => sum + of(call), 0);
  const judged = total(({ predicted }) => predicted.pauses.judged);
  const samePauses = total(({ same }) => same.pauses);
  const taken = total(({ same }) => same.taken);
  const share = (some: number, all: number) => (all === 0 ? 0 : some / all);
  return {
    calls: calls.length,
    predictedShare: share(
      total(({ predictedAtMs }) => (predictedAtMs === null ? 0 : 1)),
      calls.length,
    ),
    actualShare: share(
      total(({ actualAtMs }) => (actualAtMs === null ? 0 : 1)),
      calls.length,
    ),
    wronglyShare: share(wrongly.length, calls.length),
    sameMomentShare: share(both.filter(isSameMoment).length, both.length),
    sameKindShare: share(
      both.filter(({ actualKind, predicted }) => actualKind === predicted.difference?.kind).length,
      both.length,
    ),
    sameCutOffs: {
      predicted:
        100 *
        share(
          total(({ same }) => same.predictedCutOffs),
          samePauses,
        ),
      actual:
        100 *
        share(
          total(({ same }) => same.actualCutOffs),
          samePauses,
        ),
    },
    unknownCutOffs:
      100 *
      share(
        total(({ same }) => same.unknown),
        samePauses,
      ),
    allCutOffs: {
      predicted:
        100 *
        share(
          total(({ predicted }) => predicted.pauses.would_cut_off),
          judged,
        ),
      actual:
        100 *
        share(
          total(({ actual }) => actual.cutOffs),
          total(({ actual }) => actual.judged),
        ),
    },
    samePauseShare: share(samePauses, judged),
    savedMs: {
      predicted: share(
        total(({ same }) => same.predictedSavedMs),
        taken,
      ),
      actual: share(
        total(({ same }) => same.actualSavedMs),
        taken,
      ),
    },
  };
}

/** Names what is beyond its bound; empty if nothing is. */
export function beyondBounds(error: RehearsalError): string[] {
  const differing = Math.abs(error.predictedShare - error.actualShare);
  const { predicted, actual } = error.sameCutOffs;
  const cutOffs = Math.max(predicted - actual, actual - predicted - error.unknownCutOffs);
  const saved = Math.abs(error.savedMs.predicted - error.savedMs.actual);
  const mostSavedMs = Math.max(BOUNDS.savedMs, Math.abs(error.savedMs.actual) * BOUNDS.savedShare);
  return [
    ...(differing > BOUNDS.differingShare ? [`share of calls that differ: off by ${differing}`] : []),
    ...(error.wronglyShare > BOUNDS.wronglyShare ? [`calls predicted wrongly: ${error.wronglyShare}`] : []),
    ...(error.sameMomentShare < BOUNDS.sameMomentShare ? [`same moment only: ${error.sameMomentShare}`] : []),
    ...(error.sameKindShare < BOUNDS.sameKindShare ? [`same kind only: ${error.sameKindShare}`] : []),
    ...(cutOffs > BOUNDS.cutOffs ? [`cut-offs in a hundred pauses: off by ${cutOffs}`] : []),
    ...(saved > mostSavedMs ? [`wait saved in a turn: off by ${saved} ms`] : []),
  ];
}

/** The sums that the product would keep of these calls. */
export function tallyOf(calls: readonly RehearsedTwice[]): RehearsalTally {
  return calls.reduce(
    (tally, { predicted }) => addCall(tally, predicted, { hour: 0, number: null, startedMs: null }),
    NO_REHEARSED_CALLS,
  );
}

/** The interval of the share of calls that differ, as a rehearsal shows it. */
export function intervalOf(calls: readonly RehearsedTwice[]): {
  readonly low: number;
  readonly high: number;
} {
  const { low, high } = resultOf(tallyOf(calls)).all.differing_share;
  return { low: low ?? 0, high: high ?? 1 };
}

function isSameMoment({ actualAtMs, predictedAtMs }: RehearsedTwice): boolean {
  return Math.abs((actualAtMs ?? 0) - (predictedAtMs ?? 0)) <= SAME_MOMENT_MS;
}
