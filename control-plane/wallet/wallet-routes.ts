/** Reading a wallet (S§4.5, supplement 2.4). Another user's is missing, not forbidden; the operator may read any. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { type Caller, callerOf } from '../auth.ts';
import type { Context } from '../context.ts';
import { queryFlag } from '../lists.ts';
import type { ApiServer } from '../server.ts';
import { toWalletRecord, walletRecord } from './wallet-record.ts';

const userPath = z.object({ user_id: z.string() });

const packageRecord = z.object({
  user_id: z.string(),
  type: z.string(),
  total: z.number().int(),
  balance: z.number().int(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
});

/** Registers the wallet's routes. */
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

  app.get('/wallet/:user_id/package', { schema: { tags: ['wallet'], params: userPath, response: { 200: packageRecord } } }, async (request) => {
    const userId = readableUser(callerOf(request), request.params.user_id);
    const { first, newest } = await walletOf(context, userId);
    // Credit is all there is here: a package is always an empty one.
    return {
      user_id: userId,
      type: 'none',
      total: 0,
      balance: 0,
      created_at: first.at.toISOString(),
      updated_at: newest.at.toISOString(),
      finished_at: null,
    };
  });
}

/** The user a wallet address names, for a caller who may read it. Throws `not_found`. */
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
