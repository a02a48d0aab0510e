/** `POST /v1/agent/phone-calls`: places an outbound call; responds once the dial command is on its way. */
import { z } from 'zod';
import { type Context, newId } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { keyedHeaders } from '../../platform/http/once-per-key.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { loggingRefusals } from '../../platform/refusals/log-refusal.ts';
import { checkPromptLength } from '../sessions/session-request.ts';
import { placeOncePerKey } from './idempotency.ts';
import { phoneCallBody } from './phone-call-request.ts';
import { placeCall } from './place-call.ts';

const queuedCall = z.object({ session_id: z.string(), status: z.literal('queued') });

/** Registers the outbound call route. */
export function registerPhoneCallRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/v1/agent/phone-calls',
    {
      config: { access: 'beta' },
      schema: {
        tags: ['phone calls'],
        headers: keyedHeaders,
        body: phoneCallBody,
        response: { 201: queuedCall },
      },
    },
    async (request, reply) => {
      const { body } = request;
      const caller = callerOf(request);
      await checkPromptLength(body);
      const attempt = {
        kind: 'outbound_call',
        teamId: caller.teamId,
        agentId: body.agent_id,
        dialedNumber: body.to_number,
      } as const;
      const key = request.headers['idempotency-key'];
      const sessionId = await loggingRefusals(context, attempt, async () => {
        if (key !== undefined)
          return placeOncePerKey(context, { teamId: caller.teamId, key, asks: body }, (id) =>
            placeCall(context, caller, id, body),
          );
        const id = newId();
        await placeCall(context, caller, id, body);
        return id;
      });
      request.createdSession = sessionId;
      return reply.code(201).send({ session_id: sessionId, status: 'queued' as const });
    },
  );
}
