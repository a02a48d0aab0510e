/**
 * Holds back who suddenly places many calls on the platform's own account, as toll fraud with a stolen key
 * does: managed numbers of one account together dial so many times a minute, transfers of their calls
 * included. Where they may dial is decided before (`check-outbound.ts`); an imported number dials at its
 * owner's cost and has the limits of its trunk.
 */
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import type { Coordination } from '../../platform/store/coordination.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import type { OutboundCaller } from './check-outbound.ts';

const MINUTE_MS = 60_000;

/**
 * Throws `rate_limited` when the account has placed its calls of this minute; a batch then goes on in the
 * next.
 */
export async function requireModestRate(
  context: Pick<Context, 'coordination' | 'settings'>,
  { userId }: Pick<OutboundCaller, 'userId'>,
  { provider }: Pick<NumberDocument, 'provider'>,
): Promise<void> {
  if (provider !== 'managed') return;
  const { allowed, resetMs } = await countDialled(context, userId);
  if (!allowed) throw fault('rate_limited', { seconds: Math.ceil(resetMs / 1000) });
}

/**
 * Counts one call or transfer of an account's managed numbers, and says whether it is still one of this
 * minute's.
 */
export function countDialled(
  { coordination, settings }: Pick<Context, 'coordination' | 'settings'>,
  userId: string,
): ReturnType<Coordination['countInWindow']> {
  return coordination.countInWindow(`outbound:${userId}`, settings.OUTBOUND_CALLS_PER_MINUTE, MINUTE_MS);
}
