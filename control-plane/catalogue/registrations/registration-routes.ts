/** SIP registrations: create, list, read, update, delete. */
import { z } from 'zod';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery } from '../../platform/http/lists.ts';
import { keyedHeaders, makeOnce } from '../../platform/http/once-per-key.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findPage } from '../../platform/store/find-page.ts';
import type { SipRegistrationDocument } from '../../platform/store/models/sip-registration-model.ts';
import {
  registrationCreate,
  registrationPatch,
  registrationRecord,
  toRegistrationRecord,
} from './registration-record.ts';
import {
  createRegistration,
  deleteRegistration,
  findRegistration,
  patchRegistration,
} from './registration-store.ts';

const BASE = '/v1/agent/sip-registrations';
const ONE = `${BASE}/:sip_registration_id`;
const registrationPath = z.object({ sip_registration_id: z.string() });
const tags = ['phone numbers'];

/** Registers the routes. */
export function registerSipRegistrationRoutes(app: ApiServer, context: Context): void {
  const recordOf = (registration: SipRegistrationDocument) =>
    toRegistrationRecord(registration, context.clock.wallTime());

  app.post(
    BASE,
    {
      config: { access: 'beta' },
      schema: {
        tags,
        headers: keyedHeaders,
        body: registrationCreate,
        response: { 201: registrationRecord },
      },
    },
    async (request, reply) => {
      const owner = callerOf(request);
      const registration = await makeOnce(context, request, {
        make: (id) => createRegistration(context, owner, request.body, id),
        find: (id) => findRegistration(context, owner.teamId, id),
      });
      return reply.code(201).send(recordOf(registration));
    },
  );

  app.get(
    BASE,
    {
      schema: {
        tags,
        querystring: z.strictObject({ ...listQuery, phone_number_id: z.string().max(64).optional() }),
        response: { 200: listOf('sip_registrations', registrationRecord) },
      },
    },
    async (request) => {
      const { query } = request;
      const filter: Record<string, unknown> = { team_id: callerOf(request).teamId, deleting_at: null };
      if (query.phone_number_id !== undefined) filter['phone_number_id'] = query.phone_number_id;
      const { rows, ...page } = await findPage(context.models.sipRegistrations, { filter, query });
      return { sip_registrations: rows.map(recordOf), ...page };
    },
  );

  app.get(
    ONE,
    { schema: { tags, params: registrationPath, response: { 200: registrationRecord } } },
    async (request) =>
      recordOf(await findRegistration(context, callerOf(request).teamId, request.params.sip_registration_id)),
  );

  app.patch(
    ONE,
    {
      schema: {
        tags,
        params: registrationPath,
        body: registrationPatch,
        response: { 200: registrationRecord },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      const id = request.params.sip_registration_id;
      return recordOf(await patchRegistration(context, teamId, id, request.body));
    },
  );

  app.delete(
    ONE,
    { schema: { tags, params: registrationPath, response: { 204: z.undefined() } } },
    async (request, reply) => {
      await deleteRegistration(context, callerOf(request).teamId, request.params.sip_registration_id);
      return reply.code(204).send();
    },
  );
}
