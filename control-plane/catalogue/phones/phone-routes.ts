/** Phones that register here: create, list, read, update, delete; and the REGISTERs that workers pass on. */
import { z } from 'zod';
import { registerAnswer, registerQuestion } from '#protocol/sip-register.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { workersOnly } from '../../platform/http/internal-access.ts';
import { listOf, listQuery } from '../../platform/http/lists.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findPage } from '../../platform/store/find-page.ts';
import type { SipPhoneDocument } from '../../platform/store/models/sip-phone-model.ts';
import { answerRegister } from './answer-register.ts';
import { phoneCreate, phonePatch, phoneRecord, phoneWithPassword, toPhoneRecord } from './phone-record.ts';
import {
  createPhone,
  deletePhone,
  findPhone,
  type NewPhone,
  patchPhone,
  renewPassword,
} from './phone-store.ts';

const BASE = '/v1/agent/sip-phones';
const ONE = `${BASE}/:sip_phone_id`;
const phonePath = z.object({ sip_phone_id: z.string() });
const tags = ['phone numbers'];

/** Registers the routes. */
export function registerSipPhoneRoutes(app: ApiServer, context: Context): void {
  const recordOf = (phone: SipPhoneDocument) => toPhoneRecord(phone, context.clock.wallTime());
  const withPassword = ({ phone, password }: NewPhone) => ({ ...recordOf(phone), password });

  app.post(
    BASE,
    {
      config: { access: 'beta', refusesKey: true },
      schema: { tags, body: phoneCreate, response: { 201: phoneWithPassword } },
    },
    async (request, reply) =>
      reply.code(201).send(withPassword(await createPhone(context, callerOf(request), request.body))),
  );

  app.get(
    BASE,
    {
      schema: {
        tags,
        querystring: z.strictObject({ ...listQuery, extension: z.string().max(64).optional() }),
        response: { 200: listOf('sip_phones', phoneRecord) },
      },
    },
    async (request) => {
      const { query } = request;
      const filter: Record<string, unknown> = { team_id: callerOf(request).teamId };
      if (query.extension !== undefined) filter['extension'] = query.extension;
      const { rows, ...page } = await findPage(context.models.sipPhones, { filter, query });
      return { sip_phones: rows.map(recordOf), ...page };
    },
  );

  app.get(ONE, { schema: { tags, params: phonePath, response: { 200: phoneRecord } } }, async (request) =>
    recordOf(await findPhone(context, callerOf(request).teamId, request.params.sip_phone_id)),
  );

  app.patch(
    ONE,
    { schema: { tags, params: phonePath, body: phonePatch, response: { 200: phoneRecord } } },
    async (request) => {
      const { teamId } = callerOf(request);
      return recordOf(await patchPhone(context, teamId, request.params.sip_phone_id, request.body));
    },
  );

  app.post(
    `${ONE}/password`,
    {
      config: { refusesKey: true },
      schema: { tags, params: phonePath, response: { 200: phoneWithPassword } },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      return withPassword(await renewPassword(context, teamId, request.params.sip_phone_id));
    },
  );

  app.delete(
    ONE,
    { schema: { tags, params: phonePath, response: { 204: z.undefined() } } },
    async (request, reply) => {
      await deletePhone(context, callerOf(request).teamId, request.params.sip_phone_id);
      return reply.code(204).send();
    },
  );

  app.post(
    '/internal/sip/register',
    {
      config: { access: 'none' },
      onRequest: workersOnly(context),
      schema: { hide: true, body: registerQuestion, response: { 200: registerAnswer } },
    },
    (request) => answerRegister(context, request.body),
  );
}
