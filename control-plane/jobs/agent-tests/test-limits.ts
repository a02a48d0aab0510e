/** Limits of one account's use of workers and of the operator's language models by agent tests. */

import { formatMoney } from '#base/money.ts';
import { utcDay } from '#base/utc-day.ts';
import { fault } from '#config/errors.ts';
import { type Context, now } from '../../platform/context.ts';
import { requireRate } from '../../platform/limits/rate.ts';
import { requireNotOverdrawn } from '../../platform/limits/request-places.ts';
import { requireFewer } from '../../platform/store/stored-count.ts';

const DAY_MS = 24 * 60 * 60_000;
/** A run takes from seconds to minutes. */
const RETRY_SECONDS = 30;

/**
 * Throws `overdrawn`, `too_many_a_minute`, `too_many_at_once` or `test_spending_reached` if an account may
 * not start a batch of this many runs now.
 */
export async function requireTestLimits(
  context: Context,
  owner: { readonly userId: string; readonly teamId: string },
  runs: number,
): Promise<void> {
  const { LIMIT_TEST_BATCHES_PER_MINUTE: perMinute, LIMIT_WAITING_TEST_RUNS: limit } = context.settings;
  await requireNotOverdrawn(context, owner.userId);
  await requireTestSpending(context, owner.teamId);
  await requireRate(context, {
    key: `test-batches:${owner.teamId}`,
    limit: perMinute,
    what: 'batches of agent tests',
  });
  await requireFewer(
    context.models.testRuns,
    { team_id: owner.teamId, status: { $in: ['queued', 'running'] } },
    {
      limit,
      more: runs,
      what: 'queued or running agent test runs',
      remedy: 'start a smaller batch',
      seconds: RETRY_SECONDS,
    },
  );
}

/**
 * Throws `test_spending_reached` for an account whose tests have used up their daily allowance of language
 * models.
 */
export async function requireTestSpending(context: Context, teamId: string): Promise<void> {
  const limit = context.settings.LIMIT_TEST_SPENDING;
  if (limit === Number.POSITIVE_INFINITY) return;
  const today = await context.models.spending.findById(dayOf(context, teamId)).lean();
  if ((today?.micros ?? 0) < limit) return;
  const seconds = Math.ceil((DAY_MS - (context.clock.wallTime() % DAY_MS)) / 1_000);
  throw fault('test_spending_reached', { limit: formatMoney(limit), seconds });
}

/** Adds the language model cost of a run. */
export async function countTestSpending(context: Context, teamId: string, micros: number): Promise<void> {
  if (micros === 0) return;
  await context.models.spending.updateOne(
    { _id: dayOf(context, teamId) },
    { $inc: { micros }, $set: { at: now(context) } },
    { upsert: true },
  );
}

function dayOf(context: Context, teamId: string): string {
  return `agent-tests:${teamId}:${utcDay(now(context))}`;
}
