/**
 * One seed's call under its own settings, rehearsed under a draft, and then really run under that draft in
 * the same environment: what the rehearsal says against what happens.
 */
import type { RehearsedChanges, RunOutcome } from '#protocol/rehearsal.ts';
import { CURRENT_MACHINE } from '#runtime/replay/machines/turn-machine.ts';
import { draftSettings } from '#runtime/replay/rehearsal/draft-settings.ts';
import { isSame, kindOf } from '#runtime/replay/rehearsal/first-difference.ts';
import { comparePauses, judgeCutOffs } from '#runtime/replay/rehearsal/judge-cut-offs.ts';
import { NoticedRun } from '#runtime/replay/rehearsal/notice.ts';
import { rehearseCall } from '#runtime/replay/rehearsal/rehearse-call.ts';
import { partingOf } from '#runtime/replay/what-if.ts';
import { type ReadFlightLog, readFlightLog } from '#runtime/turn/loop/flight-log.ts';
import { type Given, simulateCall } from './simulate-call.ts';

/** Drafts that are tried in turn, a seed each. */
export const DRAFTS: readonly { readonly name: string; readonly changes: RehearsedChanges }[] = [
  { name: 'eager', changes: { eagerness: 'eager', response_wait_ms: 300, response_max_wait_ms: null } },
  { name: 'relaxed', changes: { eagerness: 'relaxed', response_wait_ms: 1_200, response_max_wait_ms: null } },
  { name: 'sensitive', changes: { interruptible: true, interruption_sensitivity: 'high' } },
  { name: 'uninterruptible', changes: { interruptible: false } },
  { name: 'impatient', changes: { reengage_enabled: true, hangup_after_seconds: 12 } },
  { name: 'unprepared', changes: { speculative_response: false } },
];

/** Pauses that both calls have: as predicted, and as they really end under the draft. */
interface SamePauses {
  readonly pauses: number;
  readonly predictedCutOffs: number;
  readonly actualCutOffs: number;
  readonly unknown: number;
  /** Turns taken in the call, in the prediction and in truth; and their waits saved, ms. */
  readonly taken: number;
  readonly predictedSavedMs: number;
  readonly actualSavedMs: number;
}

/** A prediction and its truth. */
export interface RehearsedTwice {
  readonly draft: string;
  readonly predicted: RunOutcome;
  /** Since the first input, ms; null where both are the same to the end. */
  readonly predictedAtMs: number | null;
  readonly actualAtMs: number | null;
  readonly actualKind: string | null;
  /** Pauses as the call under the draft really has them. */
  readonly actual: { readonly judged: number; readonly cutOffs: number };
  readonly same: SamePauses;
  /** Of the rehearsal alone. */
  readonly tookMs: number;
  readonly logBytes: number;
}

/** Rehearses and runs one call. */
export async function rehearseTwice(seed: number): Promise<RehearsedTwice> {
  const { name, changes } = DRAFTS[seed % DRAFTS.length] as (typeof DRAFTS)[number];
  const log = Buffer.concat([...(await simulateCall(seed, { isChecked: false })).flightLog]).toString();
  const startedMs = performance.now();
  const predicted = rehearseCall({ session_id: `seed-${seed}`, log, changes });
  const tookMs = performance.now() - startedMs;
  if (predicted.outcome !== 'run') throw new Error(`seed ${seed}: ${predicted.outcome}`);
  const conversation = { ...changes } as NonNullable<Given['conversation']>;
  const other = await simulateCall(seed, { conversation, isChecked: false });
  const [own] = readFlightLog([Buffer.from(log)]);
  const [really] = readFlightLog(other.flightLog);
  return {
    draft: name,
    predicted,
    predictedAtMs: sinceStart(own, predicted),
    ...actualDifference(own, really),
    actual: cutOffsOf(really),
    same: samePauses(own, really, changes),
    tookMs,
    logBytes: log.length,
  };
}

function sinceStart({ header, inputs }: ReadFlightLog, { difference }: RunOutcome): number | null {
  if (!difference) return null;
  const atMs = Math.min(difference.was?.at_ms ?? Infinity, difference.would_be?.at_ms ?? Infinity);
  return atMs - Date.parse(header.wall_time) + header.started_at_ms - (inputs[0]?.atMs ?? 0);
}

function actualDifference(
  own: ReadFlightLog,
  really: ReadFlightLog,
): Pick<RehearsedTwice, 'actualAtMs' | 'actualKind'> {
  const [before, after] = [
    new NoticedRun(own, {}, CURRENT_MACHINE),
    new NoticedRun(really, {}, CURRENT_MACHINE),
  ];
  const parting = partingOf(before.noticed(), after.noticed(), isSame);
  if (!parting) return { actualAtMs: null, actualKind: null };
  const { was, wouldBe: is } = parting;
  const atMs = Math.min(was?.atMs ?? Infinity, is?.atMs ?? Infinity);
  return { actualAtMs: atMs - (own.inputs[0]?.atMs ?? 0), actualKind: kindOf(was, is) };
}

function cutOffsOf(log: ReadFlightLog): RehearsedTwice['actual'] {
  const { judged, cut_off } = judgeCutOffs(log, {});
  return { judged, cutOffs: cut_off };
}

/** Pauses are the same if the caller stopped at the same moment and both calls judge them. */
function samePauses(own: ReadFlightLog, really: ReadFlightLog, changes: RehearsedChanges): SamePauses {
  const { compared: predicted } = comparePauses(own, draftSettings(own.header.config, changes));
  const actual = new Map(comparePauses(really, {}).compared.map((pause) => [pause.endMs, pause.was]));
  const both = predicted.flatMap((pause) => {
    const end = actual.get(pause.endMs);
    return end ? [{ ...pause, end }] : [];
  });
  const taken = both.filter(({ was, wouldBe, end }) =>
    [was, wouldBe, end].every(({ takenAfterMs }) => takenAfterMs !== null),
  );
  const waited = (of: 'was' | 'wouldBe' | 'end') =>
    taken.reduce((sum, pause) => sum + (pause[of].takenAfterMs ?? 0), 0);
  return {
    pauses: both.length,
    predictedCutOffs: both.filter(({ wouldBe }) => wouldBe.isCutOff).length,
    actualCutOffs: both.filter(({ end }) => end.isCutOff).length,
    unknown: both.filter(({ isUnknown }) => isUnknown).length,
    taken: taken.length,
    predictedSavedMs: waited('was') - waited('wouldBe'),
    actualSavedMs: waited('was') - waited('end'),
  };
}
