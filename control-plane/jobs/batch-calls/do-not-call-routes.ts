/** Routes of the do-not-call list: add, list, remove (docs/batch-calls.md). */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { isE164 } from '#telephony/e164.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery, numberFilter } from '../../platform/http/lists.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findPage } from '../../platform/store/find-page.ts';
import type { DoNotCallDocument } from '../../platform/store/models/batch-call-model.ts';
import { addToDoNotCall, removeFromDoNotCall } from './do-not-call.ts';

const URL = '/v1/agent/do-not-call';

const doNotCallRecord = z.object({
  phone_number: z.string(),
  source: z.enum(['api', 'voice', 'key']),
  note: z.string(),
  session_id: z.string().nullable(),
  created_at: z.iso.datetime(),
});
const doNotCallBody = z.strictObject({
  phone_number: z.string().max(64),
  note: z.string().max(256).default(''),
});

/** Registers the routes. */
export function registerDoNotCallRoutes(app: ApiServer, context: Context): void {
  const tags = ['batch calls'];

  app.post(
    URL,
    {
      schema: {
        tags,
        body: doNotCallBody,
        response: { 201: doNotCallRecord },
      },
    },
    async (request, reply) => {
      const { phone_number: phoneNumber, note } = request.body;
      if (!isE164(phoneNumber)) throw fault('destination_invalid');
      const { teamId } = callerOf(request);
      return reply
        .code(201)
        .send(
          toRecord(
            await addToDoNotCall(context, { teamId, phoneNumber, source: 'api', note, session_id: null }),
          ),
        );
    },
  );

  app.get(
    URL,
    {
      schema: {
        tags,
        querystring: z.strictObject({ ...listQuery, phone_number: z.string().max(64).optional() }),
        response: { 200: listOf('do_not_call', doNotCallRecord) },
      },
    },
    async (request) => {
      const { query } = request;
      const filter: Record<string, unknown> = { team_id: callerOf(request).teamId };
      if (query.phone_number !== undefined) filter['phone_number'] = numberFilter(query.phone_number);
      const { rows, ...page } = await findPage(context.models.doNotCall, { filter, query });
      return { do_not_call: rows.map(toRecord), ...page };
    },
  );

  app.delete(
    `${URL}/:phone_number`,
    {
      schema: {
        tags,
        params: z.object({ phone_number: z.string() }),
        response: { 204: z.undefined() },
      },
    },
    async (request, reply) => {
      await removeFromDoNotCall(context, callerOf(request).teamId, numberFilter(request.params.phone_number));
      return reply.code(204).send();
    },
  );
}

function toRecord({
  phone_number,
  source,
  note,
  session_id,
  created_at,
}: DoNotCallDocument): z.output<typeof doNotCallRecord> {
  return { phone_number, source, note, session_id, created_at: created_at.toISOString() };
}
