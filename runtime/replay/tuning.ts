/**
 * Counts what other settings would have done in the pauses of calls: callers cut off against time saved, for
 * every candidate.
 */
import { turnSettings } from '#protocol/conversation-settings.ts';
import {
  addTallies,
  type PauseTally,
  pauseTally,
  type SettingTally,
  type TriedSettings,
} from '#protocol/tuning.ts';
import { type ReadFlightLog, readFlightLogText } from '../turn/loop/flight-log.ts';
import { isCutOff } from './cut-off.ts';
import { ownMachineOf } from './machines/machine-of.ts';
import { judgePauses, type PauseOutcome } from './what-if.ts';

/** The candidates, the call's own settings first. */
const CANDIDATES: readonly TriedSettings[] = [
  {},
  ...(['relaxed', 'balanced', 'eager'] as const).flatMap((eagerness) =>
    [300, 500, 800, 1_200].map((response_wait_ms) => ({
      eagerness,
      response_wait_ms,
      response_max_wait_ms: null,
    })),
  ),
];

/**
 * Judges the pauses of calls from their stored flight logs: lines of JSON. Each call is judged by the turn
 * machine of its version; unknown versions and damaged logs are left out.
 */
export function tallyLogs(
  logs: readonly string[],
  candidates: readonly TriedSettings[] = CANDIDATES,
): PauseTally {
  const none: PauseTally = {
    calls: 0,
    pauses: 0,
    judged: 0,
    settings: candidates.map((conversation) => ({ conversation, cut_offs: 0, saved_ms: 0, taken: 0 })),
  };
  const tallyCall = (log: string) => {
    const parts = readFlightLogText(log);
    const counted = parts.map((part) => tallyPart(part, candidates)).reduce(addTallies, none);
    return pauseTally.parse({ ...counted, calls: 1 });
  };
  return logs.reduce((tally, log) => {
    try {
      return addTallies(tally, tallyCall(log));
    } catch {
      // A damaged log may fail anywhere, or count what is no number: the other calls are judged all the same.
      return tally;
    }
  }, none);
}

/** Counts the pauses of one worker's part of a call; the call itself is not counted. */
export function tallyPart(log: ReadFlightLog, candidates: readonly TriedSettings[]): PauseTally {
  const changes = candidates.map((conversation) => turnSettings(conversation));
  const { was, wouldBe, pauses } = judgePauses(log, changes, ownMachineOf(log));
  return {
    calls: 0,
    pauses,
    judged: was.length,
    settings: candidates.map((conversation, index) => ({
      conversation,
      ...countsOf(was, wouldBe[index] ?? []),
    })),
  };
}

function countsOf(
  was: readonly PauseOutcome[],
  wouldBe: readonly PauseOutcome[],
): Omit<SettingTally, 'conversation'> {
  const saved = was.flatMap(({ takenAfterMs: before }, index) => {
    const after = wouldBe[index]?.takenAfterMs ?? null;
    return before !== null && after !== null ? [before - after] : [];
  });
  return {
    cut_offs: wouldBe.filter(isCutOff).length,
    saved_ms: saved.reduce((sum, ms) => sum + ms, 0),
    taken: saved.length,
  };
}
