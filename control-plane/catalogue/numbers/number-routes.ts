/** Phone numbers: search, buy, import, list, bind, release. */
import { z } from 'zod';
import { formatMoney } from '#base/money.ts';
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { type Caller, callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery } from '../../platform/http/lists.ts';
import { keyedHeaders, makeOnce, PARTS_LEASE_MS } from '../../platform/http/once-per-key.ts';
import { invalidField } from '../../platform/http/problems.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { loggingRefusals } from '../../platform/refusals/log-refusal.ts';
import { findPage } from '../../platform/store/find-page.ts';
import { type NumberDocument, OCCUPYING_STATUSES } from '../../platform/store/models/number-model.ts';
import { registeredNumbers } from '../registrations/registration-store.ts';
import {
  connectStream,
  connectTwilio,
  disconnectTwilio,
  streamConnect,
  twilioConnect,
} from './connect-stream.ts';
import { numberCreate, numberPatch, numberRecord, sipConfig, toNumberRecord } from './number-record.ts';
import { receiveMessages, removeSms } from './number-sms.ts';
import {
  buyNumber,
  changeNumber,
  findNumber,
  importNumber,
  leftByPurchase,
  releaseNumber,
  requireAgent,
} from './number-store.ts';
import { checkedSip } from './sip-config.ts';

const OFFERED = 30;
const DAYS_PER_MONTH = 30;
const numberPath = z.object({ phone_number_id: z.string() });

const searchQuery = z.strictObject({
  country_code: z.enum(['US', 'CA']).default('US'),
  area_code: z
    .string()
    .regex(/^\d{3}$/)
    .optional(),
  number_type: z.enum(['local', 'toll_free']).default('local'),
  provider: z.literal('managed').default('managed'),
});

const availableNumber = z.object({
  phone_number: z.string(),
  country_code: z.string(),
  region: z.string(),
  locality: z.string(),
  number_type: z.string(),
  provider: z.string(),
  daily_price: z.string(),
  monthly_price: z.string(),
});

/** Registers the phone number routes. */
export function registerNumberRoutes(app: ApiServer, context: Context): void {
  registerNumberSearch(app, context);
  registerNumberRecords(app, context);
  registerSipConfig(app, context);
  registerConnections(app, context);

  app.post(
    '/v1/agent/phone-numbers',
    {
      config: { access: 'beta' },
      schema: {
        tags: ['phone numbers'],
        headers: keyedHeaders,
        body: numberCreate,
        response: { 201: numberRecord },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const number = await makeOnce(context, request, {
        make: (id) => addNumber(context, caller, request.body, id),
        find: (id) => findNumber(context, caller.teamId, id),
        leftBy: (id) => leftByPurchase(context, id),
        leaseMs: PARTS_LEASE_MS,
      });
      return reply.code(201).send(await recordOf(context, number));
    },
  );

  app.delete(
    '/v1/agent/phone-numbers/:phone_number_id',
    { schema: { tags: ['phone numbers'], params: numberPath, response: { 204: z.undefined() } } },
    async (request, reply) => {
      const { teamId } = callerOf(request);
      const number = await releaseNumber(context, teamId, request.params.phone_number_id);
      await disconnectTwilio(context, number);
      return reply.code(204).send();
    },
  );
}

async function recordOf(context: Context, number: NumberDocument) {
  const isRegistered = (await registeredNumbers(context, [number._id])).has(number._id);
  return toNumberRecord(number, { isRegistered, publicUrl: context.publicAddress.url });
}

/** Buys a number, or imports it. */
async function addNumber(
  context: Context,
  caller: Caller,
  body: z.output<typeof numberCreate>,
  id: string,
): Promise<NumberDocument> {
  const wanted = { id, phoneNumber: body.phone_number, label: body.label, agentId: body.agent_id };
  if (body.provider !== 'managed')
    return importNumber(context, caller, wanted, { sip: await checkedSip(context, body, null) });
  const attempt = {
    kind: 'phone_number',
    teamId: caller.teamId,
    agentId: body.agent_id,
    dialedNumber: body.phone_number,
  } as const;
  return loggingRefusals(context, attempt, () => buyNumber(context, caller, wanted));
}

function registerNumberSearch(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/available-phone-numbers',
    {
      schema: {
        tags: ['phone numbers'],
        querystring: searchQuery,
        response: { 200: z.object({ available_phone_numbers: z.array(availableNumber) }) },
      },
    },
    async (request) => {
      const { country_code, area_code, number_type } = request.query;
      if (number_type !== 'local') throw fault('bad_request', { detail: 'Only local numbers are offered' });
      const taken = await context.models.numbers
        .find({ status: { $in: [...OCCUPYING_STATUSES] }, provider: 'managed' }, { phone_number: 1 })
        .lean();
      const exclude = new Set(taken.map((number) => number.phone_number));
      const found = await context.carrier.search({
        countryCode: country_code,
        areaCode: area_code,
        exclude,
        limit: OFFERED,
      });
      const price = context.settings.PRICE_NUMBER_PER_DAY;
      return {
        available_phone_numbers: found.map((number) => ({
          phone_number: number.phoneNumber,
          country_code: number.countryCode,
          region: number.region,
          locality: number.locality,
          number_type: 'local',
          provider: 'managed',
          daily_price: formatMoney(price),
          monthly_price: formatMoney(price * DAYS_PER_MONTH),
        })),
      };
    },
  );
}

function registerNumberRecords(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/phone-numbers',
    {
      schema: {
        tags: ['phone numbers'],
        querystring: z.strictObject({
          ...listQuery,
          phone_number: z.string().max(32).optional(),
          agent_id: z.string().max(64).optional(),
        }),
        response: { 200: listOf('phone_numbers', numberRecord) },
      },
    },
    async (request) => {
      const { query } = request;
      const filter: Record<string, unknown> = {
        team_id: callerOf(request).teamId,
        status: { $ne: 'released' },
      };
      // A plus sign in a query string is decoded as a space.
      if (query.phone_number !== undefined) filter['phone_number'] = query.phone_number.replace(/^ /, '+');
      if (query.agent_id !== undefined) filter['agent_id'] = query.agent_id;
      const { rows, ...page } = await findPage(context.models.numbers, { filter, query });
      const registered = await registeredNumbers(
        context,
        rows.map(({ _id }) => _id),
      );
      const publicUrl = context.publicAddress.url;
      const records = rows.map((row) =>
        toNumberRecord(row, { isRegistered: registered.has(row._id), publicUrl }),
      );
      return { phone_numbers: records, ...page };
    },
  );

  app.get(
    '/v1/agent/phone-numbers/:phone_number_id',
    { schema: { tags: ['phone numbers'], params: numberPath, response: { 200: numberRecord } } },
    async (request) =>
      recordOf(context, await findNumber(context, callerOf(request).teamId, request.params.phone_number_id)),
  );

  app.patch(
    '/v1/agent/phone-numbers/:phone_number_id',
    {
      schema: {
        tags: ['phone numbers'],
        params: numberPath,
        body: numberPatch,
        response: { 200: numberRecord },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      // Caller ids are always in sync here, so there is nothing to retry.
      const { retry_caller_id_sync: _retry, sms, ...change } = request.body;
      const number = await findNumber(context, teamId, request.params.phone_number_id);
      await requireAgent(context, teamId, change.agent_id ?? null);
      await requireAgent(context, teamId, sms?.agent_id ?? null);
      if (!sms) {
        const changed = await changeNumber(context, number, change);
        return recordOf(context, sms === null ? await removeSms(context, changed) : changed);
      }
      const { replace, ...kept } = sms;
      await receiveMessages(context, number, { replace });
      return recordOf(context, await changeNumber(context, number, { ...change, sms: kept }));
    },
  );
}

function registerSipConfig(app: ApiServer, context: Context): void {
  app.put(
    '/v1/agent/phone-numbers/:phone_number_id/sip-config',
    {
      schema: {
        tags: ['phone numbers'],
        params: numberPath,
        body: sipConfig,
        response: { 200: numberRecord },
      },
    },
    async (request) => {
      const number = await findNumber(context, callerOf(request).teamId, request.params.phone_number_id);
      if (number.provider !== 'sip')
        throw invalidField(['provider'], 'only imported numbers have a SIP configuration');
      return recordOf(
        context,
        await changeNumber(context, number, { sip: await checkedSip(context, request.body, number.sip) }),
      );
    },
  );
}

function registerConnections(app: ApiServer, context: Context): void {
  app.post(
    '/v1/agent/phone-numbers/connect-twilio',
    {
      config: { access: 'beta' },
      schema: { tags: ['phone numbers'], body: twilioConnect, response: { 201: numberRecord } },
    },
    async (request, reply) => {
      const number = await connectTwilio(context, callerOf(request), request.body);
      return reply.code(201).send(await recordOf(context, number));
    },
  );

  app.post(
    '/v1/agent/phone-numbers/connect-stream',
    {
      config: { access: 'beta' },
      schema: { tags: ['phone numbers'], body: streamConnect, response: { 201: numberRecord } },
    },
    async (request, reply) => {
      const number = await connectStream(context, callerOf(request), request.body);
      return reply.code(201).send(await recordOf(context, number));
    },
  );
}
