/** `GET /admin/test-call`: where the doctor calls, and what makes its call a test. Changes nothing. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { embeddedSip, permitTestCall } from '../calls/admission/test-call.ts';
import type { Context } from '../platform/context.ts';
import { callerOf } from '../platform/http/auth.ts';
import type { ApiServer } from '../platform/http/server.ts';
import type { NumberDocument } from '../platform/store/models/number-model.ts';
import { findDemoNumber } from './seed.ts';

const testCall = z.object({
  /** Where the embedded signalling listens; null with an external SIP server. */
  sip: z.object({ host: z.string(), port: z.number().int() }).nullable(),
  /** One permitted call; null if the demo agent answers no number. */
  call: z
    .object({
      phone_number: z.string(),
      agent_id: z.string(),
      /** The session of the call, a preview of this agent. */
      session_id: z.string(),
      /** The INVITE must contain this header. */
      header: z.object({ name: z.string(), value: z.string() }),
      expires_at: z.iso.datetime(),
    })
    .nullable(),
});

/** Registers the route. */
export function registerTestCallRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/admin/test-call',
    {
      config: { access: 'operator' },
      schema: {
        tags: ['operator'],
        querystring: z.strictObject({
          /** A number of the operator's team; the demo agent's by default. */
          phone_number: z.string().max(64).optional(),
        }),
        response: { 200: testCall },
      },
    },
    async (request) => {
      const given = request.query.phone_number;
      const phoneNumber = given ?? (await findDemoNumber(context));
      const call =
        phoneNumber === null ? null : await permitted(context, callerOf(request).teamId, phoneNumber);
      return { sip: embeddedSip(context.settings), call };
    },
  );
}

/** Throws `number_not_found` without such a number, or without an agent that answers it. */
async function permitted(
  context: Context,
  teamId: string,
  phoneNumber: string,
): Promise<z.output<typeof testCall>['call']> {
  const number = await context.models.numbers
    .findOne({ team_id: teamId, phone_number: phoneNumber, status: 'active', agent_id: { $ne: null } })
    .lean<NumberDocument>();
  if (!number?.agent_id) throw fault('number_not_found');
  return {
    phone_number: number.phone_number,
    agent_id: number.agent_id,
    ...permitTestCall(context, number),
  };
}
