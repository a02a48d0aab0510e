/** The operator's routes, for the root key only: accounts, their keys, their credit. */
import { z } from 'zod';
import { formatMoney, parseMoney } from '#base/money.ts';
import { fault } from '#config/errors.ts';
import { accountRecord, toAccountRecord } from '../accounts/keys/account-record.ts';
import { createAccount, createKey, listKeys } from '../accounts/keys/accounts.ts';
import { createdKey, expiryOf, keyList, newKeyFields, toKeyList } from '../accounts/keys/key-record.ts';
import { limitFields, toStoredLimits } from '../accounts/limits/limit-record.ts';
import { accountCalls } from '../accounts/limits/spend-limits.ts';
import { amount, toWalletRecord, walletRecord } from '../accounts/wallet/wallet-record.ts';
import type { Context } from '../platform/context.ts';
import type { ApiServer } from '../platform/http/server.ts';
import { recountPlaces } from '../platform/store/counted-places.ts';

const OPERATOR = { access: 'operator' } as const;
const userPath = z.object({ user_id: z.string() });
const numberLimit = z.number().int().min(0).max(100_000);

/** Registers the operator's routes. */
export function registerOperatorRoutes(app: ApiServer, context: Context): void {
  registerUserRoutes(app, context);
  registerUserKeyRoutes(app, context);

  app.post(
    '/admin/wallet/:user_id/top-up',
    {
      config: OPERATOR,
      schema: {
        tags: ['operator'],
        params: userPath,
        body: z.strictObject({
          amount: amount.refine((text) => (parseMoney(text) ?? 0) > 0, 'must be more than 0'),
          idempotency_key: z.string().min(1).max(256),
        }),
        response: { 200: walletRecord },
      },
    },
    async (request) => {
      const userId = await existingUser(context, request.params.user_id);
      const micros = parseMoney(request.body.amount) ?? 0;
      const entry = await context.ledger.post({
        userId,
        key: `top:${request.body.idempotency_key}`,
        kind: 'top_up',
        amountMicros: micros,
      });
      if (entry.amountMicros !== micros) throw fault('top_up_key_reused');
      const wallet = await context.ledger.wallet(userId);
      return toWalletRecord(userId, wallet ?? { first: entry, newest: entry });
    },
  );
}

function registerUserRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/admin/users',
    {
      config: { ...OPERATOR, refusesKey: true },
      schema: {
        tags: ['operator'],
        body: z.strictObject({
          name: z.string().min(1).max(120),
          credit: amount.default(formatMoney(context.settings.STARTING_CREDIT)),
          beta_access: z.boolean().default(true),
          phone_number_limit: numberLimit.default(5),
        }),
        response: {
          201: z.object({
            user_id: z.string(),
            team_id: z.string(),
            workspace_id: z.string(),
            api_key: z.string(),
          }),
        },
      },
    },
    async (request, reply) => {
      const { name, credit, beta_access, phone_number_limit } = request.body;
      const { user, apiKey } = await createAccount(context, {
        name,
        creditMicros: parseMoney(credit) ?? 0,
        betaAccess: beta_access,
        phoneNumberLimit: phone_number_limit,
      });
      return reply
        .code(201)
        .send({ user_id: user._id, team_id: user.team_id, workspace_id: user.workspace_id, api_key: apiKey });
    },
  );

  app.patch(
    '/admin/users/:user_id',
    {
      config: OPERATOR,
      schema: {
        tags: ['operator'],
        params: userPath,
        body: z
          .strictObject({
            beta_access: z.boolean(),
            phone_number_limit: numberLimit,
            outbound_enabled: z.boolean(),
            ...limitFields,
          })
          .partial(),
        response: { 200: accountRecord },
      },
    },
    async (request) => {
      const user = await context.models.users
        .findOneAndUpdate(
          { _id: request.params.user_id },
          { $set: { ...request.body, ...toStoredLimits(request.body) } },
          { returnDocument: 'after' },
        )
        .lean();
      if (!user) throw fault('not_found');
      if (request.body.concurrent_calls !== undefined) await recountPlaces(context, accountCalls(user._id));
      return toAccountRecord(user);
    },
  );
}

function registerUserKeyRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/admin/keys',
    {
      config: { ...OPERATOR, refusesKey: true },
      schema: {
        tags: ['operator'],
        body: z.strictObject({ user_id: z.string(), ...newKeyFields }),
        response: { 201: createdKey },
      },
    },
    async (request, reply) => {
      const userId = await existingUser(context, request.body.user_id);
      const { keyId, apiKey } = await createKey(context, userId, {
        name: request.body.name,
        expiresAt: expiryOf(request.body.expires_at),
        mayExportCalls: request.body.may_export_calls === true,
      });
      return reply.code(201).send({ key_id: keyId, api_key: apiKey });
    },
  );

  app.get(
    '/admin/keys',
    {
      config: OPERATOR,
      schema: {
        tags: ['operator'],
        querystring: z.strictObject({ user_id: z.string() }),
        response: { 200: keyList },
      },
    },
    async (request) => toKeyList(await listKeys(context, await existingUser(context, request.query.user_id))),
  );

  app.delete(
    '/admin/keys/:key_id',
    {
      config: OPERATOR,
      schema: {
        tags: ['operator'],
        params: z.object({ key_id: z.string() }),
        response: { 204: z.undefined() },
      },
    },
    async (request, reply) => {
      const { deletedCount } = await context.models.keys.deleteOne({
        _id: request.params.key_id,
        is_root: false,
      });
      if (deletedCount === 0) throw fault('not_found');
      return reply.code(204).send();
    },
  );
}

async function existingUser(context: Context, userId: string): Promise<string> {
  if (!(await context.models.users.exists({ _id: userId }))) throw fault('not_found');
  return userId;
}
