/**
 * Limits sudden bursts of calls billed to the platform, as in toll fraud with a stolen key: all managed
 * numbers of one account share a limit of dials per minute, including transfers. Allowed destinations are
 * checked earlier (`check-outbound.ts`). Imported numbers dial at their owner's cost and are subject to their
 * trunk limits instead.
 */
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import type { Coordination } from '../../platform/store/coordination.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import type { OutboundAccount } from './check-outbound.ts';

const MINUTE_MS = 60_000;

/**
 * Throws `rate_limited` when the account has used up its calls for this minute; a batch then continues in the
 * next minute.
 */
export async function requireModestRate(
  context: Pick<Context, 'coordination' | 'settings'>,
  { userId }: Pick<OutboundAccount, 'userId'>,
  { provider }: Pick<NumberDocument, 'provider'>,
): Promise<void> {
  if (provider !== 'managed') return;
  const { allowed, resetMs } = await countDialled(context, userId);
  if (!allowed) throw fault('rate_limited', { seconds: Math.ceil(resetMs / 1000) });
}

/**
 * Counts one call or transfer from an account's managed numbers; the result says whether it is within this
 * minute's limit.
 */
export function countDialled(
  { coordination, settings }: Pick<Context, 'coordination' | 'settings'>,
  userId: string,
): ReturnType<Coordination['countInWindow']> {
  return coordination.countInWindow(`outbound:${userId}`, settings.OUTBOUND_CALLS_PER_MINUTE, MINUTE_MS);
}
