/** Silences that the agent has to answer for. */
import { TAG_THRESHOLDS } from '#config/scorecard.ts';
import type { TurnSilence } from '#protocol/session-record.ts';

/** A silence that the caller has ended or has kept up is no fault of the agent. */
export function isDeadAir(
  { duration_ms, causes }: Pick<TurnSilence, 'duration_ms' | 'causes'>,
  fromMs: number = TAG_THRESHOLDS.dead_air_ms,
): boolean {
  return duration_ms >= fromMs && !causes.some(({ cause }) => cause === 'caller_silent');
}
