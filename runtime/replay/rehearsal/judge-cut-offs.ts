/**
 * Pauses of a call under other settings: callers cut off or spared, and time saved. Each is judged alone, from
 * the state of the real call, so that pauses after the first difference count, too.
 */
import type { CallPauses } from '#protocol/rehearsal.ts';
import type { ReadFlightLog } from '../../turn/loop/flight-log.ts';
import type { TurnConfig } from '../../turn/machine/turn-config.ts';
import { CUT_OFF_WITHIN_MS } from '../tuning.ts';
import { judgePauses, type PauseOutcome } from '../what-if.ts';

/** The counts of one worker's part; times are those of the log. */
export function judgeCutOffs(log: ReadFlightLog, changes: Partial<TurnConfig>): CallPauses {
  const { was, wouldBe, pauses } = judgePauses(log, [changes]);
  const starts = log.inputs.flatMap((input) => (input.type === 'voice.started' ? [input.speechStartMs] : []));
  const counts = {
    all: pauses,
    judged: was.length,
    ...{ cut_off: 0, would_cut_off: 0, caused: 0, spared: 0, saved_ms: 0, taken: 0 },
    first_caused_at_ms: null as number | null,
  };
  let next = 0;
  was.forEach((before, index) => {
    const { endMs } = before;
    const after = wouldBe[0]?.[index] ?? before;
    while (next < starts.length && (starts[next] ?? 0) <= endMs) next += 1;
    const wentOnAfterMs = ownContinuation(before, (starts[next] ?? Number.POSITIVE_INFINITY) - endMs);
    const [isCut, wouldCut] = [cutsOff(before, wentOnAfterMs), cutsOff(after, wentOnAfterMs)];
    if (isCut) counts.cut_off += 1;
    if (wouldCut) counts.would_cut_off += 1;
    if (isCut && !wouldCut) counts.spared += 1;
    if (wouldCut && !isCut) {
      counts.caused += 1;
      counts.first_caused_at_ms ??= endMs + (after.takenAfterMs ?? 0);
    }
    if (before.takenAfterMs !== null && after.takenAfterMs !== null) {
      counts.saved_ms += before.takenAfterMs - after.takenAfterMs;
      counts.taken += 1;
    }
  });
  return counts;
}

/**
 * When the caller went on by themselves, ms after the end of speech; null if they answered what they heard.
 * Within the time of a cut-off they cannot have heard anything to answer.
 */
function ownContinuation({ takenAfterMs, wentOnAfterMs }: PauseOutcome, spokeAfterMs: number): number | null {
  if (wentOnAfterMs !== null) return wentOnAfterMs;
  return takenAfterMs !== null && spokeAfterMs <= takenAfterMs + CUT_OFF_WITHIN_MS ? spokeAfterMs : null;
}

function cutsOff({ takenAfterMs }: PauseOutcome, wentOnAfterMs: number | null): boolean {
  return takenAfterMs !== null && wentOnAfterMs !== null && wentOnAfterMs <= takenAfterMs + CUT_OFF_WITHIN_MS;
}
