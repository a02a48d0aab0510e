/**
 * Calls to numbers whose calls come as media streams of Twilio: it asks what to do with each, signed with the
 * token of the number's account, and is told to connect to this control plane, or that the number is busy.
 */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { networkOf } from '#base/client-network.ts';
import { fault } from '#config/errors.ts';
import type { AdmissionRequest } from '#protocol/sip-admission.ts';
import { VOICE_PATH } from '#telephony/carriers/carrier.ts';
import { isSignedByTwilio } from '#telephony/carriers/twilio-signature.ts';
import type { Context } from '../../platform/context.ts';
import { acceptBodies } from '../../platform/http/request-bodies.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import { streamAddress } from '../streams/stream-ticket.ts';
import { admitStreamedCall } from './admit-call.ts';

const MAX_BYTES = 64 * 1_024;
/** Twilio asks again if it has no answer; a copied request must not place a call for ever. */
const ONCE_MS = 24 * 60 * 60_000;
const BUSY = 486;

/** Registers the route. Its requests have no API key but are signed by Twilio. */
export async function registerTwilioCallRoutes(app: ApiServer, context: Context): Promise<void> {
  await app.register((plain, _options, done) => {
    const scope = plain as unknown as ApiServer;
    acceptBodies(scope, { kinds: ['urlencoded'], json: false, mostBytes: MAX_BYTES });
    scope.post(
      `${VOICE_PATH}/:phone_number_id`,
      {
        config: { access: 'none' },
        schema: {
          hide: true,
          params: z.object({ phone_number_id: z.string().max(64) }),
          body: z.record(z.string(), z.unknown()),
        },
        onRequest: async (request) => {
          if (!isSignedByTwilio(request.headers)) throw fault('callback_not_genuine');
        },
      },
      async (request, reply) => {
        const number = await streamedNumber(context, request.params.phone_number_id);
        if (!number) {
          await context.refusals.throttleCall(networkOf(request.ip));
          throw fault('callback_not_genuine');
        }
        const { body, contentType } = await answerTo(context, number, request);
        return reply.type(contentType).send(body);
      },
    );
    done();
  });
}

/** A number whose calls come as a media stream. */
type StreamedNumber = NumberDocument & Required<Pick<NumberDocument, 'media_stream'>>;

async function streamedNumber({ models }: Context, id: string): Promise<StreamedNumber | null> {
  const number = await models.numbers.findOne({ _id: id, status: 'active' }).lean<NumberDocument>();
  return number?.media_stream ? { ...number, media_stream: number.media_stream } : null;
}

async function answerTo(
  context: Context,
  number: StreamedNumber,
  { url, headers, ip, body, raw }: FastifyRequest,
): Promise<{ readonly contentType: string; readonly body: string }> {
  // The SDK takes half a second to load: only deployments that use it should pay for that.
  const twilio = await import('#telephony/carriers/twilio-voice.ts');
  const { account_sid: accountSid, auth_token: sealed, vendor } = number.media_stream;
  const { callSid, callerNumber } = twilio.readTwilioCall(
    { accountSid, authToken: context.secretBox.open(sealed) },
    { url: `${context.publicAddress.url}${url}`, headers, form: body as Record<string, unknown> },
  );
  const answer = (text: string) => ({ contentType: twilio.TWIML, body: text });
  if (!(await context.coordination.claim(`streamed-call:${callSid}`, ONCE_MS)))
    return answer(twilio.rejectCall('rejected'));
  const request: AdmissionRequest = {
    call_id: callSid,
    from_user: callerNumber,
    to_user: number.phone_number,
    source_address: ip,
    source_port: 0,
    transport: 'tls',
    headers: { 'x-twilio-callsid': callSid },
  };
  const isAwaited = () => !raw.socket.destroyed;
  const admitted = await admitStreamedCall(context, number, { vendor, request, isAwaited });
  if ('refusal' in admitted)
    return answer(twilio.rejectCall(admitted.refusal.sipStatus === BUSY ? 'busy' : 'rejected'));
  return answer(twilio.connectStream(streamAddress(context, { session_id: admitted.sessionId, vendor })));
}
