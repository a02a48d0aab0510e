/** Limits how many of something an account may start per clock minute, across all replicas. */
import { fault } from '#config/errors.ts';
import type { Context } from '../context.ts';

const MINUTE_MS = 60_000;

/** Counts one more. Throws `too_many_a_minute`; `what` names the things in the message. */
export async function requireRate(
  { coordination }: Pick<Context, 'coordination'>,
  rate: { readonly key: string; readonly limit: number; readonly what: string },
): Promise<void> {
  const { key, limit, what } = rate;
  const window = await coordination.countInWindow(key, limit, MINUTE_MS);
  if (!window.allowed)
    throw fault('too_many_a_minute', { limit, what, seconds: Math.ceil(window.resetMs / 1_000) });
}
