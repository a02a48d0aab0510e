/** `GET /v1/account`: whose key this is, and what the account may do. */

import { z } from 'zod';
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import type { UserDocument } from '../../platform/store/models/user-model.ts';
import { isLowCredit } from '../wallet/low-credit.ts';
import { accountRecord, toAccountRecord } from './account-record.ts';

const ownAccount = accountRecord.extend({
  /** The operator's own key: the `/admin` routes are open to it. */
  is_operator: z.boolean(),
  key_id: z.string(),
  /** The wallet has less than a dollar left. */
  low_credit: z.boolean(),
});

/** Registers the route of a caller's own account. */
export function registerAccountRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/v1/account',
    { schema: { tags: ['keys'], summary: 'Whose key this is', response: { 200: ownAccount } } },
    async (request) => {
      const { userId, keyId, isOperator } = callerOf(request);
      const [user, wallet] = await Promise.all([
        context.models.users.findById(userId).lean<UserDocument>(),
        context.ledger.wallet(userId),
      ]);
      if (!user) throw fault('not_found');
      return {
        ...toAccountRecord(user),
        is_operator: isOperator,
        key_id: keyId,
        low_credit: isLowCredit(wallet?.newest.balanceMicros ?? 0),
      };
    },
  );
}
