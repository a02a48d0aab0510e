/**
 * Reads a wallet. Another user's wallet is reported as not found rather than forbidden; the operator may read
 * any.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { type Caller, callerOf } from '../../platform/http/auth.ts';
import { queryFlag } from '../../platform/http/lists.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { toWalletRecord, walletRecord } from './wallet-record.ts';

const userPath = z.object({ user_id: z.string() });

const packageRecord = z.object({
  _id: z.string(),
  user_id: z.string(),
  type: z.string(),
  total: z.number().int(),
  balance: z.number().int(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
  subscription_id: z.string().nullable(),
  price_id: z.string().nullable(),
  billing_period: z.string().nullable(),
  current_period_end: z.iso.datetime().nullable(),
  cancel_at_period_end: z.boolean().nullable(),
  cancel_at: z.iso.datetime().nullable(),
  scheduled_change: z.record(z.string(), z.unknown()).nullable(),
  last_synced_at: z.iso.datetime().nullable(),
  subscription_currency: z.string().nullable(),
  subscription_status: z.string().nullable(),
  extra_balance: z.number().int(),
  has_used_trial: z.boolean(),
});

/** Accounts use prepaid credit only; subscriptions do not exist. */
const NO_SUBSCRIPTION = {
  subscription_id: null,
  price_id: null,
  billing_period: null,
  current_period_end: null,
  cancel_at_period_end: null,
  cancel_at: null,
  scheduled_change: null,
  last_synced_at: null,
  subscription_currency: null,
  subscription_status: null,
  extra_balance: 0,
  has_used_trial: false,
};

/** Registers the wallet route. */
export function registerWalletRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/wallet/:user_id/api-credit',
    {
      schema: {
        tags: ['wallet'],
        params: userPath,
        querystring: z.object({ check_free_credit: queryFlag, team_id: z.string().optional() }),
        response: { 200: walletRecord },
      },
    },
    async (request) => {
      const userId = readableUser(callerOf(request), request.params.user_id);
      return toWalletRecord(userId, await walletOf(context, userId));
    },
  );

  app.get(
    '/wallet/:user_id/package',
    { schema: { tags: ['wallet'], params: userPath, response: { 200: packageRecord } } },
    async (request) => {
      const userId = readableUser(callerOf(request), request.params.user_id);
      const { first, newest } = await walletOf(context, userId);
      return {
        _id: userId,
        user_id: userId,
        type: 'none',
        total: 0,
        balance: 0,
        created_at: first.at.toISOString(),
        updated_at: newest.at.toISOString(),
        finished_at: null,
        ...NO_SUBSCRIPTION,
      };
    },
  );
}

/** Returns the user id from a wallet path if the caller may read that wallet. Throws `not_found`. */
export function readableUser(caller: Caller, userId: string): string {
  if (userId === 'self' || userId === caller.userId) return caller.userId;
  if (caller.isOperator) return userId;
  throw fault('not_found');
}

async function walletOf(context: Context, userId: string) {
  const wallet = await context.ledger.wallet(userId);
  if (!wallet) throw fault('not_found');
  return wallet;
}
