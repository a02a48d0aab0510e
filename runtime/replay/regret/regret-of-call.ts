/**
 * The regret of one call against perfect hindsight, which answers at once at the real end of each turn, and
 * what other settings would have done in the same turns (docs/regret.md). Each pause is judged alone, from
 * the state of the real call. An answer that was heard before a caller could have gone on hides whether they
 * would have: such turns are unknown, neither a success nor a caller cut off.
 */
import { addFields } from '#base/add-fields.ts';
import { turnSettings } from '#protocol/conversation-settings.ts';
import {
  type MeasuredCall,
  measuredCall,
  type RegretOutcome,
  type RegretRequestCall,
  type TurnsUnder,
} from '#protocol/regret.ts';
import type { TriedSettings } from '#protocol/tuning.ts';
import { type ReadFlightLog, readFlightLogText } from '../../turn/loop/flight-log.ts';
import { CUT_OFF_WITHIN_MS, firstAfter, isCutOff, nextSpeech, ownContinuation } from '../cut-off.ts';
import { ownMachineOf } from '../machines/machine-of.ts';
import { judgePauses, type PauseOutcome } from '../what-if.ts';

/** Measures a call; a damaged log, or one of an unknown version of the turn machine, is named. */
export function regretOfCall({ session_id, log, candidates }: RegretRequestCall): RegretOutcome {
  try {
    const parts = readFlightLogText(log).map((part) => regretOfPart(part, candidates));
    return measuredCall.parse({ outcome: 'measured', session_id, ...parts.reduce(addParts) });
  } catch {
    // A damaged log may fail anywhere, or count what is no number: the others would be lost with it.
    return { outcome: 'unreadable', session_id };
  }
}

type Part = Omit<MeasuredCall, 'outcome' | 'session_id'>;

/** The regret of one worker's part of a call. */
export function regretOfPart(log: ReadFlightLog, candidates: readonly TriedSettings[]): Part {
  const changes = candidates.map((conversation) => turnSettings(conversation));
  const { was, wouldBe, pauses } = judgePauses(log, changes, ownMachineOf(log), { withMerged: true });
  const seen = whatWasSeen(log, was);
  return {
    pauses,
    judged: was.length,
    own: turnsUnder(was, was, seen),
    candidates: wouldBe.map((ends) => turnsUnder(ends, was, seen)),
  };
}

/** What a log shows of a caller after the end of their speech, ms from there. */
interface Seen {
  /** They went on by themselves; null if they did not, or it is hidden. */
  readonly wentOnAfterMs: number | null;
  /** So long they were seen silent while no answer was heard. */
  readonly silentForMs: number;
}

function whatWasSeen(log: ReadFlightLog, was: readonly PauseOutcome[]): Seen[] {
  const heard = log.inputs.flatMap((input) => (input.type === 'playout.started' ? [input.atMs] : []));
  const logEndMs = log.inputs.at(-1)?.atMs ?? 0;
  const [nextSpoke, nextHeard] = [nextSpeech(log), firstAfter(heard)];
  return was.map((pause) => {
    const spokeAfterMs = nextSpoke(pause.endMs) - pause.endMs;
    const hiddenAfterMs = Math.min(nextHeard(pause.endMs), logEndMs) - pause.endMs;
    return {
      wentOnAfterMs: ownContinuation(pause, spokeAfterMs),
      silentForMs: Math.max(0, Math.min(spokeAfterMs, hiddenAfterMs)),
    };
  });
}

function turnsUnder(
  ends: readonly PauseOutcome[],
  was: readonly PauseOutcome[],
  seen: readonly Seen[],
): TurnsUnder {
  const sums = { turns: 0, cut_offs: 0, unknown: 0, wait_ms: 0, known_wait_ms: 0 };
  ends.forEach(({ takenAfterMs }, index) => {
    const { wentOnAfterMs = null, silentForMs = 0 } = seen[index] ?? {};
    if (takenAfterMs === null) {
      // The turn was taken in the call and is not under these settings: its end lies behind the answer.
      if (wentOnAfterMs === null && was[index]?.takenAfterMs !== null) {
        sums.turns += 1;
        sums.unknown += 1;
        sums.wait_ms += silentForMs;
      }
      return;
    }
    sums.turns += 1;
    if (isCutOff({ takenAfterMs, wentOnAfterMs })) {
      sums.cut_offs += 1;
      return;
    }
    sums.wait_ms += takenAfterMs;
    const isKnown = wentOnAfterMs !== null || silentForMs >= takenAfterMs + CUT_OFF_WITHIN_MS;
    if (isKnown) sums.known_wait_ms += takenAfterMs;
    else sums.unknown += 1;
  });
  return sums;
}

function addParts(one: Part, other: Part): Part {
  return {
    pauses: one.pauses + other.pauses,
    judged: one.judged + other.judged,
    own: addFields(one.own, other.own),
    candidates: one.candidates.map((turns, index) => addFields(turns, other.candidates[index] ?? turns)),
  };
}
