/**
 * Calls that the carrier could not deliver to the SIP address. They are logged with the refused calls of the
 * number's team, and the carrier asks the caller to try again.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LOST_CALL_PATH } from '#telephony/carriers/carrier.ts';
import type { Context } from '../../platform/context.ts';
import { acceptBodies } from '../../platform/http/request-bodies.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { logRefusal } from '../../platform/refusals/log-refusal.ts';
import { findCalledNumbers } from './number-store.ts';

const MAX_BYTES = 64 * 1_024;

/** Registers the route. Its requests have no API key but are signed by the carrier. */
export async function registerLostCallRoutes(app: ApiServer, context: Context): Promise<void> {
  const { carrier } = context;
  const { lostCalls } = carrier;
  if (!lostCalls) return;
  await app.register((plain, _options, done) => {
    const scope = plain as unknown as ApiServer;
    acceptBodies(scope, { kinds: ['urlencoded'], json: false, mostBytes: MAX_BYTES });
    scope.post(
      LOST_CALL_PATH,
      {
        config: { access: 'none' },
        schema: { hide: true, body: z.record(z.string(), z.unknown()) },
        onRequest: async (request) => {
          if (!lostCalls.isSigned(request.headers)) throw fault('callback_not_genuine');
        },
      },
      async (request, reply) => {
        const url = `${context.publicAddress.url}${request.url}`;
        const call = lostCalls.read({ url, headers: request.headers, form: request.body });
        const [number] = await findCalledNumbers(context, call.dialedNumber);
        context.logger.error(
          { carrier: carrier.name, carrierCallId: call.carrierCallId },
          'the carrier could not deliver a call to the SIP address',
        );
        if (number)
          logRefusal(
            context,
            {
              kind: 'inbound_call',
              teamId: number.team_id,
              agentId: number.agent_id,
              callerNumber: call.callerNumber,
              dialedNumber: call.dialedNumber,
              sipCallId: call.carrierCallId,
            },
            fault('call_lost_at_carrier', { provider: carrier.name }),
          );
        const { contentType, body } = lostCalls.apology;
        return reply.type(contentType).send(body);
      },
    );
    done();
  });
}
