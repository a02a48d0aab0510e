/**
 * Decisions about a batch and its rows: how many to dial now, the outcome of a call, and what follows. Pure.
 */
import type { FaultCode } from '#config/errors.ts';
import type { Pacing, RetryRules, RowState } from '../../platform/store/models/batch-call-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { isLive } from '../../platform/store/session-status.ts';

/** Outcome of a call. */
export type Outcome = 'completed' | 'busy' | 'no_answer' | 'failed';

/** How many calls may be started now. */
export function freeSlots(
  { concurrent_calls, calls_per_minute }: Pacing,
  now: { readonly calling: number; readonly lastMinute: number },
): number {
  return Math.max(0, Math.min(concurrent_calls - now.calling, calls_per_minute - now.lastMinute));
}

/**
 * Outcome of a row's call according to its session; null while it is running. If the session was deleted with
 * its key or team, the outcome is unknown.
 */
export function outcomeOf(session: Pick<SessionDocument, 'status' | 'dial_status'> | null): Outcome | null {
  if (session === null) return 'failed';
  const { status, dial_status: dialStatus } = session;
  if (dialStatus !== null && dialStatus !== 'answered') return dialStatus;
  if (status === 'creating' || isLive(status)) return null;
  return dialStatus === 'answered' ? 'completed' : 'no_answer';
}

/**
 * State of a row after a call; `attempts` includes that call, `isLast` means that the callee wants no further
 * call.
 */
export function afterAttempt(
  retry: RetryRules,
  {
    outcome,
    attempts,
    isLast,
    atMs,
  }: {
    readonly outcome: Outcome;
    readonly attempts: number;
    readonly isLast: boolean;
    readonly atMs: number;
  },
): { readonly state: RowState; readonly nextAtMs: number } {
  const isRepeated =
    outcome !== 'completed' && !isLast && retry.on.includes(outcome) && attempts < retry.max_attempts;
  return isRepeated
    ? { state: 'waiting', nextAtMs: atMs + retry.delay_seconds * 1000 }
    : { state: outcome, nextAtMs: atMs };
}

/**
 * The cause of a refusal: the row, which cannot be called; the moment, which passes; or the batch, which its
 * owner must correct.
 */
export type RefusalConcerns = 'row' | 'moment' | 'batch';

const OF_ROW: ReadonlySet<FaultCode> = new Set([
  'destination_invalid',
  'destination_not_allowed',
  'premium_destination_blocked',
  'self_call_blocked',
]);
const OF_MOMENT: ReadonlySet<FaultCode> = new Set([
  'no_capacity',
  'share_of_workers',
  'draining',
  'gateway_unreachable',
  'database_unavailable',
  'concurrent_calls_reached',
  'daily_cap_reached',
  'rate_limited',
]);

/** Classifies a refusal. */
export function concernOf(code: FaultCode): RefusalConcerns {
  if (OF_ROW.has(code)) return 'row';
  return OF_MOMENT.has(code) ? 'moment' : 'batch';
}
