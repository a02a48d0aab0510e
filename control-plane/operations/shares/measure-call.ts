/** Measures an ended call for the rates of a share. A rate leaves out calls that do not show it. */
import {
  type AnalysisResult,
  BREAKDOWNS,
  type EndReason,
  type TurnSilence,
} from '#protocol/session-record.ts';
import { isDeadAir } from '../../calls/tags/dead-air.ts';
import type { ShareMeasure } from '../../platform/store/models/share-model.ts';

/** The facts of a call. */
export interface CallFacts {
  readonly end_reason: EndReason | null;
  readonly turns: readonly { readonly total_ms: number }[];
  readonly silences: readonly Pick<TurnSilence, 'duration_ms' | 'causes'>[];
  /** Null without a finished analysis. */
  readonly criteria: AnalysisResult['criteria_results'] | null;
}

/** Whether each of them happened; null where the call does not show it. */
export function measureCall(
  facts: CallFacts,
  slowMs: number,
): Readonly<Record<ShareMeasure, boolean | null>> {
  return {
    failed: BREAKDOWNS.has(facts.end_reason),
    unsuccessful: isUnsuccessful(facts.criteria),
    slow: isSlow(facts.turns, slowMs),
    dead_air: facts.silences.some((silence) => isDeadAir(silence)),
    transferred: facts.end_reason === 'escalated',
  };
}

/** A criterion failed; null if none was judged. */
function isUnsuccessful(criteria: CallFacts['criteria']): boolean | null {
  const judged = (criteria ?? []).filter(({ result }) => result !== 'unknown');
  return judged.length === 0 ? null : judged.some(({ result }) => result === 'failure');
}

/** At least half of the replies took longer; null without a reply. */
function isSlow(turns: CallFacts['turns'], slowMs: number): boolean | null {
  if (turns.length === 0) return null;
  const slow = turns.filter(({ total_ms }) => total_ms > slowMs).length;
  return slow * 2 >= turns.length;
}
