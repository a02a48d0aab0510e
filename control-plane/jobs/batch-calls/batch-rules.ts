/**
 * What is decided about a batch and its rows, apart from doing it: how many to dial now, what a call came to,
 * and what follows. Pure.
 */
import type { FaultCode } from '#config/errors.ts';
import type { Pacing, RetryRules, RowState } from '../../platform/store/models/batch-call-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { isLive } from '../../platform/store/session-status.ts';

/** What a call came to. */
export type Outcome = 'completed' | 'busy' | 'no_answer' | 'failed';

/** Calls that may be begun now. */
export function freeSlots(
  { concurrent_calls, calls_per_minute }: Pacing,
  now: { readonly calling: number; readonly lastMinute: number },
): number {
  return Math.max(0, Math.min(concurrent_calls - now.calling, calls_per_minute - now.lastMinute));
}

/**
 * What the session of a row says of its call; null while it is not over. A session that is gone, with its key
 * or its team, cannot say.
 */
export function outcomeOf(session: Pick<SessionDocument, 'status' | 'dial_status'> | null): Outcome | null {
  if (session === null) return 'failed';
  const { status, dial_status: dialStatus } = session;
  if (dialStatus !== null && dialStatus !== 'answered') return dialStatus;
  if (status === 'creating' || isLive(status)) return null;
  return dialStatus === 'answered' ? 'completed' : 'no_answer';
}

/**
 * Where a row stands after a call that is over; `attempts` counts that call too, `isLast` says that whoever
 * was called wants no other.
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
 * Whose affair a refusal is: the row's, which cannot be called; the moment's, which passes; or the batch's,
 * which somebody has to put right.
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

/** Tells them apart. */
export function concernOf(code: FaultCode): RefusalConcerns {
  if (OF_ROW.has(code)) return 'row';
  return OF_MOMENT.has(code) ? 'moment' : 'batch';
}
