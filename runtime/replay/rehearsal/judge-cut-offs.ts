/**
 * Pauses of a call under other settings: callers cut off or spared, and time saved. Each is judged alone,
 * from the state of the real call, so that pauses after the first difference count, too.
 */
import type { CallPauses } from '#protocol/rehearsal.ts';
import type { ReadFlightLog } from '../../turn/loop/flight-log.ts';
import type { TurnConfig } from '../../turn/machine/turn-config.ts';
import { isCutOff, nextSpeech, ownContinuation } from '../cut-off.ts';
import { ownMachineOf } from '../machines/machine-of.ts';
import { judgePauses, type PauseOutcome } from '../what-if.ts';

/** One pause under one of both settings. */
interface PauseEnd {
  /** From the end of speech until the turn is taken, ms; null if the caller goes on first. */
  readonly takenAfterMs: number | null;
  /** The caller goes on although the turn is taken, and has not heard the agent yet. */
  readonly isCutOff: boolean;
}

/** One pause under both. */
export interface ComparedPause {
  /** The end of speech, on the clock of the log. */
  readonly endMs: number;
  readonly was: PauseEnd;
  readonly wouldBe: PauseEnd;
  /**
   * The caller spoke when the turn would only just be taken, but had heard the agent before: whether they
   * would have gone on by themselves is not known.
   */
  readonly isUnknown: boolean;
}

/** The pauses that can be judged, and the number of all. */
export function comparePauses(
  log: ReadFlightLog,
  changes: Partial<TurnConfig>,
): { readonly compared: readonly ComparedPause[]; readonly all: number } {
  const { was, wouldBe, pauses: all } = judgePauses(log, [changes], ownMachineOf(log));
  const nextSpoke = nextSpeech(log);
  const compared = was.map((before, index) => {
    const { endMs } = before;
    const spokeAfterMs = nextSpoke(endMs) - endMs;
    const wentOnAfterMs = ownContinuation(before, spokeAfterMs);
    const after = wouldBe[0]?.[index] ?? before;
    const ends = { was: endOf(before, wentOnAfterMs), wouldBe: endOf(after, wentOnAfterMs) };
    const isUnknown = wentOnAfterMs === null && endOf(after, spokeAfterMs).isCutOff;
    return { endMs, ...ends, isUnknown };
  });
  return { compared, all };
}

/** The counts of one worker's part; times are those of the log. */
export function judgeCutOffs(log: ReadFlightLog, changes: Partial<TurnConfig>): CallPauses {
  const { compared, all } = comparePauses(log, changes);
  const count = (is: (pause: ComparedPause) => boolean) => compared.filter(is).length;
  const isCaused = ({ was, wouldBe }: ComparedPause) => wouldBe.isCutOff && !was.isCutOff;
  const first = compared.find(isCaused);
  const saved = compared.flatMap(({ was, wouldBe }) =>
    was.takenAfterMs !== null && wouldBe.takenAfterMs !== null
      ? [was.takenAfterMs - wouldBe.takenAfterMs]
      : [],
  );
  return {
    all,
    judged: compared.length,
    cut_off: count(({ was }) => was.isCutOff),
    would_cut_off: count(({ wouldBe }) => wouldBe.isCutOff),
    caused: count(isCaused),
    unknown: count(({ isUnknown }) => isUnknown),
    spared: count(({ was, wouldBe }) => was.isCutOff && !wouldBe.isCutOff),
    first_caused_at_ms: first ? first.endMs + (first.wouldBe.takenAfterMs ?? 0) : null,
    saved_ms: saved.reduce((sum, ms) => sum + ms, 0),
    taken: saved.length,
  };
}

function endOf({ takenAfterMs }: PauseOutcome, wentOnAfterMs: number | null): PauseEnd {
  return { takenAfterMs, isCutOff: isCutOff({ takenAfterMs, wentOnAfterMs }) };
}
