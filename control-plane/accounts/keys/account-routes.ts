/** `GET /v1/account`: the account a key belongs to and its permissions. */

import { z } from 'zod';
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import type { UserDocument } from '../../platform/store/models/user-model.ts';
import { isLowCredit } from '../wallet/low-credit.ts';
import { accountRecord, toAccountRecord } from './account-record.ts';

const ownAccount = accountRecord.extend({
  /** True for the operator's key, which may use the `/admin` routes. */
  is_operator: z.boolean(),
  key_id: z.string(),
  /** This key may export calls to files; absent otherwise. */
  may_export_calls: z.literal(true).optional(),
  /** The wallet balance is below one dollar. */
  low_credit: z.boolean(),
});

/** Registers the route that returns the caller's own account. */
export function registerAccountRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/v1/account',
    {
      schema: {
        tags: ['keys'],
        response: { 200: ownAccount },
      },
    },
    async (request) => {
      const { userId, keyId, isOperator, mayExportCalls } = callerOf(request);
      const [user, wallet] = await Promise.all([
        context.models.users.findById(userId).lean<UserDocument>(),
        context.ledger.wallet(userId),
      ]);
      if (!user) throw fault('not_found');
      return {
        ...toAccountRecord(user),
        is_operator: isOperator,
        key_id: keyId,
        ...(mayExportCalls && { may_export_calls: true as const }),
        low_credit: isLowCredit(wallet?.newest.balanceMicros ?? 0),
      };
    },
  );
}
